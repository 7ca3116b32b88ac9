@testable import Shop
class CartTests { func testFill() { let cart = Cart(store: Store()); cart.fill() } }
