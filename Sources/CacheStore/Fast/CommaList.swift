/// A comma-separated list.
///
/// Appends each text instead of joining them as ``PlainCommaList`` does: `joined` makes the runtime look up more
/// types, which would slow the start.
struct CommaList {
  private(set) var text = ""

  mutating func add(_ item: String) {
    if !text.isEmpty { text += ", " }
    text += item
  }
}

/// The plain form of ``CommaList``.
struct PlainCommaList {
  private var items: [String] = []

  var text: String { items.joined(separator: ", ") }

  mutating func add(_ item: String) { items.append(item) }
}
