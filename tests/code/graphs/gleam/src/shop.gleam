import shop/cart.{type Cart, Cart}
import shop/money as cash
pub fn run(c: Cart) { c |> cart.fill(1) |> cash.total |> helped }
fn helped(x) { Cart(x) }
