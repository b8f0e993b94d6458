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
