require_relative "base"
module Shop
  class Cart < Base
    include Logging
    def initialize(owner)
      @store = Store.new
    end
    def fill(count)
      prepare
      log "filling"
      @store.save_all(count)
      self.finish
    end
    def finish
      count = helper_total
      count
    end
    def helper_total = 1
  end
  class Store
    def save_all(count); end
  end
end
