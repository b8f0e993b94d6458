/// A collection of objects, found by identity.
///
/// It is a list and not a dictionary: it holds few objects, and for the first dictionary with keys other than strings,
/// the runtime searches all conformances of the program, which would delay the start.
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

/// A set of names that is nearly always the usual one, which the owner passes to each call.
///
/// The usual names stay a list until the caller sets others, and are not a set: making the program's first set would
/// delay the start.
struct NameSet: Sendable, Hashable {
  /// `nil` stands for the usual names.
  private var own: Set<String>?

  func names(usual: [String]) -> Set<String> { own ?? Set(usual) }

  mutating func set(_ names: Set<String>, usual: [String]) { own = names == Set(usual) ? nil : names }

  func contains(_ name: String, usual: [String]) -> Bool { own?.contains(name) ?? usual.contains(name) }
}
