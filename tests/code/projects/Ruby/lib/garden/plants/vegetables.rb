module Garden
  module Climbing
    def self.included(base)
      base.extend(ClassMethods)
    end

    module ClassMethods
      def support(kind)
        @support = kind
      end
    end

    def height
      @height || 180
    end
  end

  module Plants
    class Bean < Plant
      include Climbing
      support :pole
      grows_in :summer, :autumn

      def water
        super + 3
      end
    end

    class Squash < Plant
      def space; 4 end

      def each_fruit
        return enum_for(:each_fruit) unless block_given?

        @fruit.each { yield _1 }
      end
    end

    Weed = Class.new(Plant) do
      def space = 0
    end

    Seed = Data.define(:plant, :count) do
      def sow(bed)
        count.times { bed << plant.new }
      end
    end
  end
end
