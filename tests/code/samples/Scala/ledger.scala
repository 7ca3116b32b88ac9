package org.example
package ledger

import scala.util.{Failure as Failed, Success, Try}
import scala.concurrent.*
import java.util.UUID

/** What is kept. */
sealed trait Event derives CanEqual
object Event {
  final case class Added(id: UUID, amount: BigDecimal) extends Event
  case object Closed extends Event

  def parse(text: String): Option[Event] = text match {
    case s"added $id" => Some(Added(UUID.fromString(id), 0))
    case _ => None
  }
}

enum Kind(val sign: Int) extends Enum[Kind]:
  case Credit extends Kind(1)
  case Debit extends Kind(-1)

  def label: String = toString.toLowerCase

abstract class Store[K, +V](implicit val ordering: Ordering[K]) {
  protected val cache: Map[K, V]
  var size = 0
  lazy val name: String = getClass.getName
  def load(key: K): Option[V]
  def get(key: K): V = load(key).getOrElse(sys.error("none"))
}

trait Logging { self: Ledger =>
  private[ledger] def log(what: => String): Unit = println(s"$what of ${self.owner}")
}

/** A ledger. */
final class Ledger private (val owner: String, entries: List[Event]) extends Store[UUID, Event] with Logging {
  import Ledger._

  override protected val cache = Map.empty
  override def load(key: UUID) = cache.get(key)

  def add(event: Event)(using clock: Clock): Ledger = {
    val now = clock.now()
    log(s"added at $now")
    new Ledger(owner, event :: entries)
  }

  def total: BigDecimal = entries.collect { case Event.Added(_, amount) => amount }.sum

  def each[A](f: Event => A): List[A] = for { e <- entries; if keep(e) } yield f(e)

  private def keep(event: Event) = event != Event.Closed

  def ::(event: Event): Ledger = apply(owner)
}

object Ledger {
  val Limit: Int = 100
  private var made = 0

  def apply(owner: String): Ledger = { made += 1; new Ledger(owner, Nil) }
  def unapply(ledger: Ledger): Option[String] = Some(ledger.owner)

  implicit class Sums(val ledger: Ledger) extends AnyVal {
    def plus(other: Ledger): BigDecimal = ledger.total + other.total
  }

  given Ordering[Event] = Ordering.by(_.hashCode)
}

type Result[A] = Either[String, A]

extension (ledger: Ledger)
  def isEmpty: Boolean = ledger.total == 0
  def twice: BigDecimal = ledger.total * 2

@main def run(args: String*): Unit = println(Ledger("me").total)
