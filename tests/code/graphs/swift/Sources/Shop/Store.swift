public protocol Saving { func saveAll() }
public class Base { func prepare() {} }
struct Price { static func zero() -> Price { Price() } }
class Store: Saving { func saveAll() { check() }; func check() {} }
