# frozen_string_literal: true

require "set"
require_relative "garden/bed"
require_relative "garden/plants/plant"
require_relative "garden/plants/vegetables"
require_relative "garden/schedule"

# Beds, what grows in them, and when it wants water.
module Garden
  VERSION = "0.3.1"
  SEASONS = %i[spring summer autumn winter].freeze

  class Error < StandardError; end
  class Overfull < Error
    attr_reader :bed

    def initialize(bed)
      @bed = bed
      super("bed #{bed.name} is full")
    end
  end

  class << self
    attr_writer :clock

    def clock
      @clock ||= -> { Time.now }
    end

    def season(month = clock.call.month)
      SEASONS[(month % 12) / 3 - 1]
    end
  end

  def self.plan(*beds, &block)
    Schedule.new(beds).tap { |schedule| schedule.instance_eval(&block) if block }
  end

  module_function

  def litres(millimetres, area) = millimetres * area
end
