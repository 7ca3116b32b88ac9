//// The shop.
import gleam/list
import gleam/io.{println, type Reader as R}
import shop/money as cash

pub const limit = 10

/// What is sold.
pub type Item {
  Tea(price: Int, name: String)
  Cup
}

pub opaque type Basket { Basket(items: List(Item)) }
type Alias = List(Item)

@external(erlang, "m", "f")
pub fn now() -> Int

/// Adds.
pub fn add(basket: Basket, item: Item) -> Basket {
  let Basket(items) = basket
  Basket([item, ..items]) |> check |> cash.total(2)
}

fn check(b) {
  use x <- list.map(b.items)
  println("x")
  fn(y) { y }
}

pub fn add_test() { add(1, 2) }
