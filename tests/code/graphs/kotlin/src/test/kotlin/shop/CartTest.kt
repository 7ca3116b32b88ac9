package shop
class CartTest { @Test fun fills() { val cart = Cart.make(); cart.fill() } }
