@file:JvmName("Ledgers")

package org.example.ledger

import java.util.UUID
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow as stream

/** What went wrong. */
sealed interface Failure {
    data object Empty : Failure
    data class TooLarge(val limit: Int, val was: Int) : Failure
}

@JvmInline
value class Cents(val amount: Long) {
    operator fun plus(other: Cents) = Cents(amount + other.amount)
    infix fun of(count: Int): Cents = Cents(amount * count)

    companion object Factory {
        @JvmStatic
        fun parse(text: String): Cents? = text.toLongOrNull()?.let(::Cents)
    }
}

annotation class Audited(val by: String = "")

enum class Kind(val sign: Int) {
    CREDIT(1) {
        override fun label() = "in"
    },
    DEBIT(-1) {
        override fun label() = "out"
    };

    abstract fun label(): String
}

interface Store<K : Any, out V> {
    val size: Int
        get() = 0

    suspend fun load(key: K): V?
    fun all(): Flow<V> = stream { emitAll() }
}

/**
 * A ledger.
 *
 * @param store where it is kept
 */
@Audited(by = "tests")
abstract class Ledger<T : Entry>(
    protected val store: Store<UUID, T>,
    private var name: String = DEFAULT,
    limit: Int,
) : AutoCloseable, Iterable<T> by store.list() {
    private val entries = mutableMapOf<UUID, T>()
    var total: Cents = Cents(0)
        private set
        get() = entries.values.fold(field) { sum, entry -> sum + entry.amount }
    val lazily by lazy { compute(limit) }
    lateinit var owner: String

    init {
        require(limit > 0) { "limit" }
    }

    constructor(store: Store<UUID, T>) : this(store, limit = LIMIT)

    /** Adds it. */
    fun add(entry: T, notify: (T) -> Unit = {}): Ledger<T> = apply {
        entries[entry.id] = entry
        notify(entry)
        fun inner(): Int = entries.size
        log(inner())
    }

    open fun <R> visit(block: Ledger<T>.() -> R): R = block()

    internal tailrec fun find(id: UUID, depth: Int = 0): T? {
        val found = entries[id]
        return when {
            found != null -> found
            depth > LIMIT -> null
            else -> find(id, depth + 1)
        }
    }

    override fun close() = store.release()

    protected abstract fun compute(limit: Int): Int

    private inner class Cursor : Iterator<T> {
        override fun hasNext(): Boolean = false
        override fun next(): T = throw NoSuchElementException()
    }

    companion object {
        const val LIMIT = 100
        private const val DEFAULT = "main"
        fun log(count: Int) = println("$count entries, ${name(count)}")
    }
}

data class Entry(val id: UUID, val amount: Cents, val kind: Kind = Kind.CREDIT)

object Registry : Store<String, Entry> {
    override suspend fun load(key: String): Entry? = null
}

val Entry.isDebit: Boolean get() = kind == Kind.DEBIT
inline fun <reified T> List<T>.second(): T = this[1]
private val cache by lazy { HashMap<String, Entry>() }
typealias Handler = suspend (Entry) -> Unit
fun interfaceOf(handler: Handler) = object : Runnable {
    override fun run() = Unit
}
