module Garden
  # A bed of a given size.
  class Bed
    include Enumerable
    include Comparable
    extend Forwardable

    DEFAULT_SIZE = 12
    Row = Struct.new(:plant, :since, keyword_init: true) do
      def age(now)
        now - since
      end

      def to_s = "#{plant} since #{since}"
    end

    attr_accessor :name
    attr_reader :rows, :size
    def_delegators :@rows, :length, :empty?

    def initialize(name, size: DEFAULT_SIZE)
      @name = name
      @size = size
      @rows = []
    end

    def each(&) = rows.each(&)

    def <=>(other)
      size <=> other.size
    end

    def [](index)
      rows.fetch(index).plant
    end

    def []=(index, plant)
      rows[index] = Row.new(plant: plant, since: Garden.clock.call)
    end

    def <<(plant)
      raise Overfull, self if full?

      rows.push(Row.new(plant:, since: Garden.clock.call))
      self
    end

    def full?
      rows.sum { |row| row.plant.space } >= size
    end

    def clear!
      rows.clear
    end

    def -@
      dup.tap(&:clear!)
    end

    def method_missing(name, *arguments)
      name.end_with?("?") ? any? { |row| row.plant.kind == name.to_s.chomp("?").to_sym } : super
    end

    def respond_to_missing?(name, include_private = false)
      name.end_with?("?") || super
    end

    protected

    def weight = rows.length * 2

    private

    def log(message)
      warn "#{self.class.name}: #{message}"
    end

    private_class_method def self.parse(line)
      new(line.split(":").first)
    end
  end
end
