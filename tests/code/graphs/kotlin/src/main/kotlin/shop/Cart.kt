package shop
import shop.store.Store
import shop.store.helped as help
class Cart(private val store: Store) : Base() {
    fun fill() { prepare(); store.saveAll(); help(LIMIT); this.finish(); make() }
    fun finish() {}
    companion object { const val LIMIT = 3; fun make() = Cart(Store()) }
}
