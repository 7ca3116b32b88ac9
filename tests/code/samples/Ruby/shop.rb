# The shop.
require "json"
require_relative "money"

module Shop
  VERSION = "1.2"

  # Goods that are sold.
  class Basket < Base::Thing
    include Enumerable
    attr_accessor :owner, :total
    MAX = 10

    def initialize(owner, *items, key: 1, **rest, &block)
      @owner = owner
      super(owner)
      block.call(items)
    end

    # Adds.
    def add!(item) = @items.push(item)

    def self.empty = new(nil)

    class << self
      def load(path)
        JSON.parse(File.read(path)).map { |each| Item.new(each) }
      end
    end

    private

    def check?
      total&.positive? || raise(Shop::Error, "x")
    end

    def +(other)
      Money.add(self, other)
    end
    alias_method :plus, :+
    alias old new
  end

  Point = Struct.new(:x, :y)
  class Error < StandardError; end
end

def helper(x)
  puts x
  Shop::Basket.load(x)
end

describe "Basket" do
  it "adds" do
    helper 1
  end
end
