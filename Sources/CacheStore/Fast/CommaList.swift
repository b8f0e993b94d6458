/// Texts with commas between them.
///
/// Appended one after another, not joined as in ``PlainCommaList``, for which the runtime looks up more types than a start
/// should pay for.
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
