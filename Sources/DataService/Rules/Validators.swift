package import CacheStore

/// Asking the origin whether a stored response still holds, and what its 304 does (RFC 9111 section 4.3).
package enum Validators {
  /// The fields that make a request conditional on the stored response (section 4.3.1): `If-None-Match` with its
  /// entity tag, `If-Modified-Since` with its `Last-Modified`; none where it has no validator.
  package static func conditionalFields(for stored: StoredResponse) -> HTTPFields {
    var fields = HTTPFields()
    // What came with a file is confirmed by nobody: a true validator beside false bytes would make them true for ever.
    if stored.isUnconfirmed { return fields }
    if let tag = entityTag(in: stored.fields) { fields.append("If-None-Match", tag) }
    // As received, not as reformatted: origins compare the text (RFC 9110 section 13.1.3).
    if let modified = lastModified(in: stored.fields) { fields.append("If-Modified-Since", modified) }
    return fields
  }

  /// Whether there is anything to validate the stored response with.
  package static func canValidate(_ stored: StoredResponse) -> Bool {
    !stored.isUnconfirmed && (entityTag(in: stored.fields) != nil || lastModified(in: stored.fields) != nil)
  }

  /// The stored fields as a 304, or a HEAD answer, updates them (sections 3.2 and 4.3.4).
  ///
  /// Every field of the answer replaces those of its name, but for those never stored (section 3.1) and those that
  /// describe the stored bytes, which are decoded and have not come again. `Age` and `Date` are the answer's alone:
  /// what they said of the earlier exchange no longer holds.
  package static func freshened(
    stored: HTTPFields, by answer: HTTPFields, secretNames: FieldNames = [], receivedAt: Int64? = nil
  ) -> HTTPFields {
    var update = StoredFields.storable(answer, secretNames: secretNames, receivedAt: receivedAt)
    update.removeAll(in: describesBytes)
    var result = stored
    result.removeAll(in: FieldNames(update.all.map(\.name)), or: ["age", "date"])
    result.append(contentsOf: update)
    return result
  }

  /// Whether a 304 speaks of another representation than the stored one, so that it must not update it
  /// (section 4.3.4): another entity tag, one where the stored response has none, or, without tags, another
  /// `Last-Modified`.
  package static func names304Another(stored: HTTPFields, answer: HTTPFields) -> Bool {
    if let answered = answer["ETag"] {
      guard let held = stored["ETag"] else { return EntityTag(answered).map { !$0.isWeak } ?? false }
      guard let answeredTag = EntityTag(answered), let heldTag = EntityTag(held) else {
        return !FieldList.isSame(answered, held)
      }
      // A strong tag identifies bytes, a weak one need only correspond.
      return answeredTag.isWeak || heldTag.isWeak
        ? !answeredTag.weaklyMatches(heldTag) : !answeredTag.stronglyMatches(heldTag)
    }
    guard let answered = answer["Last-Modified"].flatMap({ HTTPDate.parse($0) }),
      let held = stored["Last-Modified"].flatMap({ HTTPDate.parse($0) }), stored["ETag"] == nil
    else { return false }
    return answered != held
  }

  /// The stored entity tag as it may be sent. Some origins leave out the quotation marks and expect that back, so
  /// one that is a bare token goes out as it came; what could be read as `*` or as a list does not.
  private static func entityTag(in fields: HTTPFields) -> String? {
    guard let text = fields["ETag"] else { return nil }
    return EntityTag(text) != nil || (FieldList.isToken(text) && text != "*") ? text : nil
  }

  private static func lastModified(in fields: HTTPFields) -> String? {
    fields["Last-Modified"].flatMap { HTTPDate.parse($0) == nil ? nil : $0 }
  }

  private static let describesBytes: FieldNames = ["content-length", "content-encoding", "content-range"]
}
