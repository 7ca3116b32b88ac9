class Garden::Plant
  KINDS = {}

  class Unknown < Garden::Error
    def message
      "unknown plant"
    end
  end

  def self.inherited(subclass)
    super
    KINDS[subclass.name] = subclass
  end

  def self.[](name)
    KINDS.fetch(name) { raise Unknown }
  end

  def self.grows_in(*seasons)
    define_method(:seasons) { seasons }
    define_method("in_season?") { seasons.include?(Garden.season) }
  end

  attr_reader :sown

  def initialize(sown = nil)
    @sown = sown
  end

  def space
    1
  end

  def thirsty?(rain:, now: Garden.clock.call)
    rain < water && !dormant?(now)
  end

  def water; 5; end

  def kind = self.class.name.downcase.to_sym

  alias_method :wet?, :thirsty?
  alias to_sym kind

  def dormant?(_now)
    false
  end
  private :dormant?
end
