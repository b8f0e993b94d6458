/// The pin and the tags that a row is to get: what a request asks for, or all loads that share an exchange.
package struct RowMarks: Sendable, Hashable {
  /// Whether the row is to be pinned; `false` leaves a pinned row pinned.
  package var isPinned: Bool
  /// Tags to add to the row.
  package var tags: [String]

  /// Makes marks; without arguments none.
  package init(isPinned: Bool = false, tags: [String] = []) { (self.isPinned, self.tags) = (isPinned, tags) }

  /// Whether there are none.
  package var isEmpty: Bool { !isPinned && tags.isEmpty }

  /// Whether a row may lack one of them; its tags are not read with it.
  package func mayBeMissing(from row: StoredResponse) -> Bool { isPinned && !row.isPinned || !tags.isEmpty }

  /// Adds the marks of another load.
  package static func += (left: inout RowMarks, right: RowMarks) {
    left.isPinned = left.isPinned || right.isPinned
    left.tags += right.tags.filter { !left.tags.contains($0) }
  }
}
