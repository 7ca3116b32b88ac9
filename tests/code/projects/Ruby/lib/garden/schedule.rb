require "time"

module Garden
  class Schedule
    Entry = Data.define(:bed, :litres, :at)
    private_constant :Entry

    def initialize(beds)
      @beds = beds
      @entries = []
    end

    def water(bed, every: 2, &condition)
      @entries << Entry.new(bed: bed, litres: Garden.litres(every, bed.size), at: Time.now)
      @condition = condition
    end

    def each_day
      return to_enum(__method__) unless block_given?

      @entries.group_by { |entry| entry.at.to_date }.each do |day, entries|
        yield day, entries
      end
    end

    def to_s
      <<~TEXT
        def not_a_method
        #{@entries.map { |entry| "#{entry.bed.name}: #{entry.litres} l" }.join("\n")}
      TEXT
    end

    def ==(other) = other.is_a?(Schedule) && entries == other.entries
    def !
      @entries.empty?
    end
    def call(...) = water(...)

    protected attr_reader :entries
  end
end
