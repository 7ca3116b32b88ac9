package shop
class CartSpec { def fills() = { val cart = new Cart(null); cart.fill(); Cart.make } }
