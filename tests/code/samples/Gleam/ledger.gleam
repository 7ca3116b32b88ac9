//// Entries of a ledger.
//// More of it.

import gleam/option.{type Option, None, Some}
import gleam/result
import gleam/string as text
import ledger/money.{type Money, Money, add as plus}

/// What can go wrong.
pub type LedgerError {
  Empty
  TooLarge(limit: Int, was: Int)
  Wrapped(inner: LedgerError)
}

pub type Ledger(entry) {
  Ledger(owner: String, entries: List(entry), parent: Option(Ledger(entry)))
}

type Handler(a) =
  fn(a) -> Result(Nil, LedgerError)

pub const limit: Int = 100

const names = ["credit", "debit"]

@deprecated("Use open")
pub fn new(owner: String) -> Ledger(a) {
  Ledger(owner: owner, entries: [], parent: None)
}

/// Adds an entry.
///
/// Fails when there are too many.
pub fn push(ledger: Ledger(a), entry: a) -> Result(Ledger(a), LedgerError) {
  case ledger.entries {
    [] -> Ok(Ledger(..ledger, entries: [entry]))
    [_, ..rest] if limit > 1 -> {
      let size = count(rest)
      Error(TooLarge(limit: limit, was: size))
    }
    _ -> Error(Wrapped(Empty))
  }
}

fn count(items: List(a)) -> Int {
  do_count(items, 0)
}

fn do_count(items: List(a), so_far: Int) -> Int {
  case items {
    [] -> so_far
    [_, ..rest] -> do_count(rest, so_far + 1)
  }
}

pub fn each(over ledger: Ledger(a), with handler: Handler(a)) {
  use first <- result.try(head(ledger.entries))
  let label = names |> text.join(with: ", ")
  handler(first)
  |> result.map(fn(_) { label })
  |> result.map_error(Wrapped)
}

@external(erlang, "lists", "hd")
@external(javascript, "./lists.mjs", "head")
fn head(items: List(a)) -> Result(a, LedgerError)

pub fn total(amounts: List(Money)) -> Money {
  let zero = Money(0)
  fold(amounts, zero, plus)
}

fn fold(items, initial, with f) {
  todo as "fold the rest"
}

pub fn main() {
  let assert Ok(ledger) = new("me") |> push(Money(1))
  panic as ledger.owner
}
