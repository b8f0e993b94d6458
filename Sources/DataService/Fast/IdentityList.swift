/// Objects by their identity.
///
/// A list, not a dictionary as in ``PlainIdentityList``: there are few, and for the first dictionary with keys other than text
/// the runtime searches every conformance of the program, which a start would pay for.
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
