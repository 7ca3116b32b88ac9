require_relative "shop/cart"
module Shop
  LIMIT = 3
  def self.open
    Cart.new("x").fill(LIMIT)
  end
end
