package import CacheStore

/// Validation: the condition of a request, and the effect of its 304 (RFC 9111 section 4.3).
package enum Validators {
  /// The fields that make a request conditional on the stored response (section 4.3.1): `If-None-Match` with its
  /// entity tag and `If-Modified-Since` with its `Last-Modified`. Empty without a validator.
  package static func conditionalFields(for stored: StoredResponse) -> HTTPFields {
    var fields = HTTPFields()
    // No origin has confirmed an imported response. If its validator happens to be right and its body wrong, every 304
    // would confirm the wrong body. A local one has validators only where the program vouches for them.
    if stored.isImported { return fields }
    if let tag = entityTag(in: stored.fields) { fields.append("If-None-Match", exact: tag) }
    // As received, not reformatted: origins may compare the text (RFC 9110 section 13.1.3).
    if let modified = lastModified(in: stored.fields) { fields.append("If-Modified-Since", modified) }
    return fields
  }

  /// Whether the stored response has a validator to send.
  package static func canValidate(_ stored: StoredResponse) -> Bool {
    !stored.isImported && (entityTag(in: stored.fields) != nil || lastModified(in: stored.fields) != nil)
  }

  /// The stored fields, updated by a 304 or by an answer to HEAD (sections 3.2 and 4.3.4).
  ///
  /// Each field of the answer replaces the stored fields of that name, except those that are never stored (section
  /// 3.1) and those that describe the stored body, which was not sent again (law 5). The stored `Age` and `Date` are
  /// always dropped, since they belong to the earlier exchange.
  package static func freshened(
    stored: HTTPFields, by answer: HTTPFields, secretNames: FieldNames = [], receivedAt: Int64? = nil
  ) -> HTTPFields {
    var update = StoredFields.storable(answer, secretNames: secretNames, receivedAt: receivedAt)
    update.removeAll(in: describesBody)
    var result = stored
    result.removeAll(in: FieldNames(update.all.map(\.name)), or: ["age", "date"])
    result.append(contentsOf: update)
    return result
  }

  /// Whether a 304 describes another representation than the stored one and so must not update it (section 4.3.4):
  /// its entity tag differs, it has a strong tag where the stored response has none, or, without tags, its
  /// `Last-Modified` differs.
  package static func names304Another(stored: HTTPFields, answer: HTTPFields) -> Bool {
    if let answered = answer.exact["ETag"] {
      guard let held = stored.exact["ETag"] else { return EntityTag(answered).map { !$0.isWeak } ?? false }
      guard let answeredTag = EntityTag(answered), let heldTag = EntityTag(held) else {
        return !FieldList.isSame(answered, held)
      }
      // Strong tags identify bytes; a weak tag on either side needs weak comparison only.
      return answeredTag.isWeak || heldTag.isWeak
        ? !answeredTag.weaklyMatches(heldTag) : !answeredTag.stronglyMatches(heldTag)
    }
    guard let answered = answer["Last-Modified"].flatMap({ HTTPDate.parse($0) }),
      let held = stored["Last-Modified"].flatMap({ HTTPDate.parse($0) }), !stored.contains("ETag")
    else { return false }
    return answered != held
  }

  /// The stored entity tag in the form to send. Some origins omit the quotation marks and expect the tag back that
  /// way, so a bare token is sent as received; text that could be read as `*` or as a list is not.
  private static func entityTag(in fields: HTTPFields) -> String? {
    guard let text = fields.exact["ETag"] else { return nil }
    return EntityTag(text) != nil || (FieldList.isToken(text) && text != "*") ? text : nil
  }

  private static func lastModified(in fields: HTTPFields) -> String? {
    fields["Last-Modified"].flatMap { HTTPDate.parse($0) == nil ? nil : $0 }
  }

  private static let describesBody: FieldNames = [
    "content-type", "content-length", "content-encoding", "content-range",
  ]

  /// Whether merged fields are within the limits of a head, or no more than the stored ones were: without end, each 304
  /// could bring fields of other names (law 13).
  static func isWithin(_ limits: Limits, _ merged: HTTPFields, stored: HTTPFields) -> Bool {
    merged.wire.count <= stored.wire.count
      || merged.wire.count <= limits.fieldSectionBytes && merged.count <= limits.fieldCount
  }
}

/// The fields of a forwarded request under `http` (RFC 9111 section 4.3.1).
package enum HTTPExchangeFields {
  /// The caller's fields with the validators of the stored response.
  ///
  /// - Parameters:
  ///   - caller: The caller's own fields. The validators replace its preconditions, which are evaluated afterwards
  ///     against the validated response (section 4.3.2).
  ///   - conditions: The validators; empty if there is nothing to validate.
  ///   - isForStore: Whether the refresh only fills the store, as behind a stale answer; it then needs the whole
  ///     body.
  package static func fields(caller: HTTPFields, conditions: HTTPFields, isForStore: Bool = false)
    -> HTTPFields
  {
    var fields = caller
    if !conditions.isEmpty || isForStore {
      for name in ["If-None-Match", "If-Modified-Since"] { fields.remove(name) }
    }
    if isForStore {
      for name in ["Range", "If-Range"] { fields.remove(name) }
    }
    fields.append(contentsOf: conditions)
    return fields
  }
}

/// A validator made by the origin (RFC 9110 section 8.8.3).
package struct EntityTag: Sendable, Hashable {
  /// Whether it is weak: equal tags then mean equivalent, not identical.
  package let isWeak: Bool
  /// The tag between its quotation marks.
  package var opaque: String { String(decoding: bytes, as: UTF8.self) }
  private let bytes: [UInt8]

  /// The entity tag in the text, or `nil` if the text is not one. Of a field it is the exact text.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    let isWeak = bytes.starts(with: [0x57, 0x2F])
    let quoted = bytes[(isWeak ? 2 : 0)...]
    guard quoted.count >= 2, quoted.first == Ascii.quote, quoted.last == Ascii.quote else { return nil }
    let inner = quoted.dropFirst().dropLast()
    guard inner.allSatisfy({ $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) }) else { return nil }
    self.isWeak = isWeak
    self.bytes = Array(inner)
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
