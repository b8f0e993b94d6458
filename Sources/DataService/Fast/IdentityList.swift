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
