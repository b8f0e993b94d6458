/// A set of names that nearly always is the usual one, which whoever has it names each time.
///
/// The usual names stay a list until somebody wants others, not a set as in ``PlainNameSet``: the first set of a program is
/// what a start would pay for.
struct NameSet: Sendable, Hashable {
  /// `nil` for the usual ones.
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
