package shop.store
class Store { def saveAll(): Unit = check(); private def check(): Unit = () }
object Texts { def clean(s: String) = s }
