package import CacheStore

/// Validation: the condition of a request, and the effect of its 304 (RFC 9111 section 4.3).
package enum Validators {
  /// The fields that make a request conditional on the stored response (section 4.3.1): `If-None-Match` with its
  /// entity tag and `If-Modified-Since` with its `Last-Modified`. Empty without a validator.
  package static func conditionalFields(for stored: StoredResponse) -> HTTPFields {
    var fields = HTTPFields()
    // No origin has confirmed an imported or local response. If its validator happens to be right and its body wrong,
    // every 304 would confirm the wrong body.
    if stored.isUnconfirmed { return fields }
    if let tag = entityTag(in: stored.fields) { fields.append("If-None-Match", tag) }
    // As received, not reformatted: origins may compare the text (RFC 9110 section 13.1.3).
    if let modified = lastModified(in: stored.fields) { fields.append("If-Modified-Since", modified) }
    return fields
  }

  /// Whether the stored response has a validator to send.
  package static func canValidate(_ stored: StoredResponse) -> Bool {
    !stored.isUnconfirmed && (entityTag(in: stored.fields) != nil || lastModified(in: stored.fields) != nil)
  }

  /// The stored fields, updated by a 304 or by an answer to HEAD (sections 3.2 and 4.3.4).
  ///
  /// Each field of the answer replaces the stored fields of that name, except those that are never stored (section
  /// 3.1) and those that describe the stored bytes, which are decoded and were not sent again. The stored `Age` and
  /// `Date` are always dropped, since they belong to the earlier exchange.
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

  /// Whether a 304 describes another representation than the stored one and so must not update it (section 4.3.4):
  /// its entity tag differs, it has a strong tag where the stored response has none, or, without tags, its
  /// `Last-Modified` differs.
  package static func names304Another(stored: HTTPFields, answer: HTTPFields) -> Bool {
    if let answered = answer["ETag"] {
      guard let held = stored["ETag"] else { return EntityTag(answered).map { !$0.isWeak } ?? false }
      guard let answeredTag = EntityTag(answered), let heldTag = EntityTag(held) else {
        return !FieldList.isSame(answered, held)
      }
      // Strong tags identify bytes; a weak tag on either side needs weak comparison only.
      return answeredTag.isWeak || heldTag.isWeak
        ? !answeredTag.weaklyMatches(heldTag) : !answeredTag.stronglyMatches(heldTag)
    }
    guard let answered = answer["Last-Modified"].flatMap({ HTTPDate.parse($0) }),
      let held = stored["Last-Modified"].flatMap({ HTTPDate.parse($0) }), stored["ETag"] == nil
    else { return false }
    return answered != held
  }

  /// The stored entity tag in the form to send. Some origins omit the quotation marks and expect the tag back that
  /// way, so a bare token is sent as received; text that could be read as `*` or as a list is not.
  private static func entityTag(in fields: HTTPFields) -> String? {
    guard let text = fields["ETag"] else { return nil }
    return EntityTag(text) != nil || (FieldList.isToken(text) && text != "*") ? text : nil
  }

  private static func lastModified(in fields: HTTPFields) -> String? {
    fields["Last-Modified"].flatMap { HTTPDate.parse($0) == nil ? nil : $0 }
  }

  private static let describesBytes: FieldNames = ["content-length", "content-encoding", "content-range"]
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
