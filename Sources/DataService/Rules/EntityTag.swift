/// A validator made by the origin (RFC 9110 section 8.8.3).
package struct EntityTag: Sendable, Hashable {
  /// Whether it is weak: equal tags then mean equivalent, not identical.
  package let isWeak: Bool
  /// The tag between its quotation marks.
  package let opaque: String
  private let bytes: [UInt8]

  /// The entity tag in the text, or `nil` if the text is not one.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    let isWeak = bytes.starts(with: [0x57, 0x2F])
    let quoted = bytes[(isWeak ? 2 : 0)...]
    guard quoted.count >= 2, quoted.first == Ascii.quote, quoted.last == Ascii.quote else { return nil }
    let inner = quoted.dropFirst().dropLast()
    guard inner.allSatisfy({ $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) }) else { return nil }
    self.isWeak = isWeak
    self.bytes = Array(inner)
    opaque = String(decoding: inner, as: UTF8.self)
  }

  /// Strong comparison: both tags are strong and equal (section 8.8.3.2).
  package func stronglyMatches(_ other: EntityTag) -> Bool {
    !isWeak && !other.isWeak && bytes == other.bytes
  }

  /// Weak comparison: the opaque tags are equal, weak or not (section 8.8.3.2).
  package func weaklyMatches(_ other: EntityTag) -> Bool { bytes == other.bytes }

  /// The tags in a list such as `If-None-Match`; members that are not tags are skipped.
  ///
  /// ``FieldList/members(_:)`` does not fit: a backslash escapes inside a quoted string, but not inside a tag.
  package static func list(_ value: String) -> [EntityTag] {
    var tags: [EntityTag] = []
    var member: [UInt8] = []
    var isQuoted = false
    for byte in Array(value.utf8) + [Ascii.comma] {
      if byte == Ascii.comma, !isQuoted {
        let text = FieldList.trimmed(String(decoding: member, as: UTF8.self))
        if let tag = EntityTag(text) { tags.append(tag) }
        member = []
      } else {
        if byte == Ascii.quote { isQuoted.toggle() }
        member.append(byte)
      }
    }
    return tags
  }
}
