package shop
import shop.store.{Store, Texts => T}
class Cart(store: Store) extends Base with Logs {
  def fill(): Unit = { prepare(); store.saveAll(); T.clean("a"); this.finish(); logged() }
  def finish(): Unit = ()
}
object Cart { def make: Cart = new Cart(new Store) }
