/// A collection of objects, found by identity.
///
/// It is a list and not a dictionary as in ``PlainIdentityList``: it holds few objects, and for the first dictionary
/// with keys other than strings, the runtime searches all conformances of the program, which would delay the start.
struct IdentityList<Element> {
  private let identity: @Sendable (Element) -> ObjectIdentifier
  /// In no order.
  private(set) var all: [Element] = []

  init(by identity: @escaping @Sendable (Element) -> ObjectIdentifier) { self.identity = identity }

  var isEmpty: Bool { all.isEmpty }

  mutating func add(_ element: Element) { all.append(element) }

  mutating func remove(_ element: Element) {
    guard let place = all.firstIndex(where: { identity($0) == identity(element) }) else { return }
    all.swapAt(place, all.count - 1)
    all.removeLast()
  }
}

/// The plain form of ``IdentityList``.
struct PlainIdentityList<Element> {
  private let identity: @Sendable (Element) -> ObjectIdentifier
  private var elements: [ObjectIdentifier: Element] = [:]

  init(by identity: @escaping @Sendable (Element) -> ObjectIdentifier) { self.identity = identity }

  var isEmpty: Bool { elements.isEmpty }

  /// In no order.
  var all: [Element] { Array(elements.values) }

  mutating func add(_ element: Element) { elements[identity(element)] = element }

  mutating func remove(_ element: Element) { elements[identity(element)] = nil }
}

/// A set of names that is nearly always the usual one, which the owner passes to each call.
///
/// The usual names stay a list until the caller sets others, and are not a set as in ``PlainNameSet``: making the
/// program's first set would delay the start.
struct NameSet: Sendable, Hashable {
  /// `nil` stands for the usual names.
  private var own: Set<String>?

  func names(usual: [String]) -> Set<String> { own ?? Set(usual) }

  mutating func set(_ names: Set<String>, usual: [String]) { own = names == Set(usual) ? nil : names }

  func contains(_ name: String, usual: [String]) -> Bool { own?.contains(name) ?? usual.contains(name) }
}

/// The plain form of ``NameSet``.
struct PlainNameSet: Sendable, Hashable {
  var names: Set<String>

  init(usual: [String]) { names = Set(usual) }

  func contains(_ name: String) -> Bool { names.contains(name) }
}
