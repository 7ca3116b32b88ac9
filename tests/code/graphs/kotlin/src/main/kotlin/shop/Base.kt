package shop
open class Base { fun prepare() {} }
fun Cart.shout() = fill()
