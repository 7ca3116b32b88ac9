package shop.store
class Store { fun saveAll() { check() } private fun check() {} }
fun helped(x: Int) = x
