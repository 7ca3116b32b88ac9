package shop

interface Shelf { fun take(): Item? }
object Shelves { fun all(): List<Shelf> = listOf() }
enum class Size(val text: String) { SMALL("{s }"), LARGE("l"); fun half() = text }
data class Item(val price: Int) { val twice get() = price * 2 }
class Basket {
    companion object { const val LIMIT = 3 }
    var count = 0; private set
    fun fill() = "${ count } of ${LIMIT }" // { full }
}
