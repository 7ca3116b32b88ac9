require_relative "../lib/shop"
class CartTest
  def test_fill
    cart = Shop::Cart.new("x")
    cart.fill(1)
    Shop.open
  end
end
