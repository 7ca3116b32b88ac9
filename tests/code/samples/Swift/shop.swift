// The shop.
import Foundation
@testable import Shop
import struct Money.Price

let limit = 10

/// Can be sold.
public protocol Sellable: AnyObject {
    associatedtype Item
    var price: Int { get }
    func sell(to customer: Customer) throws -> Bool
}

enum Mood: String, CaseIterable {
    case happy, sad = "s"
    indirect case other(Mood)
    func label() -> String { rawValue.uppercased() }
}

struct Point<T: Equatable> {
    let x: T
    var y: T = 0
    init(x: T) { self.x = x }
    static func + (a: Point, b: Point) -> Point { Point(x: a.x) }
    subscript(i: Int) -> T { x }
}

/// Goods.
@MainActor
final class Basket: Base, Sellable {
    private var items: [Item] = []
    lazy var total: Int = { compute() }()

    init(owner: Customer, _ clock: Clock? = nil) {
        super.init()
        self.log("made")
    }
    deinit { close() }

    override func sell(to customer: Customer) throws -> Bool {
        let each = items.map { $0.price() }
        helper(each)
        return customer.pay(Price.zero()) 
    }
    class func make() async -> Basket { Basket(owner: Customer()) }
}

extension Basket {
    func log(_ what: String) { print(what) }
}
typealias Alias = Basket
func helper(_ x: [Int]) { }
actor Worker { func run() {} }
