pub type Cart { Cart(count: Int) }
pub fn fill(c: Cart, n: Int) { checked(c) }
fn checked(c) { c }
