// The shop.
package shop.cart

import shop.money.Price
import shop.money.Currency as Cur
import kotlin.math.*

const val LIMIT = 10
typealias Items = List<Item>

/** Can be sold. */
interface Sellable : Comparable<Sellable> {
    val price: Int
    fun sell(to: Customer): Boolean
}

enum class Mood(val label: String) { HAPPY("h"), SAD("s"); fun twice() = label + label }

data class Point(val x: Int, var y: Int = 0)

sealed class Basket(private val owner: Customer) : Base(owner), Sellable {
    constructor() : this(Customer())
    init { log("made") }
    private val items = mutableListOf<Item>()
    override val price: Int get() = items.sumOf { it.price() }

    /** Sells. */
    override suspend fun sell(to: Customer): Boolean {
        val each = helper(items)
        return to.pay(Price.zero()) && this.check(each)
    }
    companion object {
        fun make(): Basket = Basket()
        const val SIZE = 3
    }
    inner class Inner { fun deep() {} }
}

object Single { fun run() {} }
fun Basket.log(what: String) = println(what)
fun <T> helper(x: List<T>): Int { return x.size }
fun interface Predicate { fun accept(i: Int): Boolean }
class BasketTest { @Test fun `adds things`() { helper(listOf(1)) } }
