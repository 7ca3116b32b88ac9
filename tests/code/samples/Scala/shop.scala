// The shop.
package shop.cart

import shop.money.{Price, Currency => Cur}
import scala.collection.mutable
import shop.util._

/** Can be sold. */
trait Sellable[T] extends Ordered[T] {
  def price: Int
  def sell(to: Customer): Boolean = to.pay(price)
}

case class Point(x: Int, y: Int = 0)
sealed abstract class Basket(private val owner: Customer) extends Base(owner) with Sellable[Basket] {
  val Limit = 10
  var items = List.empty[Item]
  type Alias = List[Item]
  def this() = this(new Customer)

  /** Sells. */
  override def sell(to: Customer): Boolean = {
    def inner(x: Int) = helper(x)
    val each = items.map(_.price)
    inner(1) && this.check(Price.zero)
  }
  def +(other: Basket): Basket = Basket.make(other)
}

object Basket {
  def make(b: Basket): Basket = new Basket(b.owner) {}
  implicit val ord: Ordering[Basket] = ???
}
object Main extends App { println(Basket.make(null)) }
enum Mood { case Happy, Sad; case Other(x: Int) }
given intOrd: Ord[Int] with { def compare(a: Int) = 1 }
extension (b: Basket) def log(what: String) = println(what)
def top(x: Int) = x
