/*
 Entries of a ledger, and what is done with them.
 */
import Foundation

public enum LedgerError: Error, LocalizedError {
    case empty
    case tooLarge(limit: Int, was: Int)

    public var errorDescription: String? {
        switch self {
        case .empty: return "empty"
        case let .tooLarge(limit, was): return describe(limit, was)
        }
    }
}

/// An entry.
public struct Entry: Codable, Hashable, Identifiable {
    public let id: UUID
    public var amount: Decimal
    private(set) var notes: [String] = []

    enum CodingKeys: String, CodingKey {
        case id
        case amount = "value"
    }

    static let none = Entry(id: UUID(), amount: 0)

    public init?(from text: String) {
        guard let amount = Decimal(string: text) else { return nil }
        self.init(id: UUID(), amount: amount)
    }

    mutating func note(_ text: String) { notes.append(text) }
}

@propertyWrapper
struct Clamped<Value: Comparable> where Value: Hashable {
    var wrappedValue: Value {
        get { stored }
        set { stored = min(max(newValue, range.lowerBound), range.upperBound) }
    }
    private var stored: Value
    private let range: ClosedRange<Value>
}

public final class Ledger<Store: Storing>: ObservableObject {
    @Published public private(set) var entries: [Entry] = []
    private let store: Store
    weak var delegate: LedgerDelegate?
    static var shared: Ledger<FileStore>!

    public init(store: Store) { self.store = store }

    public convenience init() where Store == FileStore { self.init(store: FileStore()) }

    /// Adds an entry.
    /// - Parameter entry: what to add
    @discardableResult
    public func add(_ entry: Entry) async throws -> Int {
        try await store.save(entry)
        entries.append(entry)
        delegate?.ledger(self, didAdd: entry)
        return entries.filter { $0.amount > 0 }.map(\.amount).count
    }

    subscript(index: Int) -> Entry { entries[index] }
    subscript(safe index: Int) -> Entry? { entries.indices.contains(index) ? entries[index] : nil }

    class Page {
        func next() -> Page? { nil }
    }
}

protocol Storing {
    associatedtype Key
    static var name: String { get }
    init()
    func save(_ entry: Entry) async throws
}

protocol LedgerDelegate: AnyObject {
    func ledger(_ ledger: Any, didAdd entry: Entry)
}

extension Ledger: CustomStringConvertible where Store: CustomStringConvertible {
    public var description: String { "ledger in \(store.description)" }
}

actor FileStore: Storing {
    typealias Key = String
    static let name = "file"
    init() {}
    func save(_ entry: Entry) async throws { try encode(entry) }
    nonisolated func encode(_ entry: Entry) throws {}
}

infix operator <+>: AdditionPrecedence
func <+> (left: Entry, right: Entry) -> Entry { left }
prefix func ! (entry: Entry) -> Entry { entry }
fileprivate func describe(_ limit: Int, _ was: Int) -> String { "\(was) of \(limit)" }

#if DEBUG
func debugOnly() { print(Ledger<FileStore>()) }
#endif
