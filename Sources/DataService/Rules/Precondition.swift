package import CacheStore

/// Evaluates the caller's own preconditions against a stored response (RFC 9111 section 4.3.2).
package enum Precondition {
  /// Whether the caller's `If-None-Match`, or without one its `If-Modified-Since`, matches, so that a 304 is the
  /// answer.
  ///
  /// Preconditions apply only to a stored response that would be a 200 (RFC 9110 section 13.2.1).
  package static func isNotModified(requestFields: HTTPFields, stored: StoredResponse) -> Bool {
    guard stored.status == 200 else { return false }
    if let tags = requestFields.combined("If-None-Match") {
      return matchesAny(tags, tag: stored.fields["ETag"])
    }
    guard let text = requestFields["If-Modified-Since"],
      let since = HTTPDate.parse(text, now: stored.receivedAt)
    else { return false }
    return lastChange(of: stored) <= since
  }

  /// Whether a range may be cut from the stored response: `If-Range` is absent or matches strongly (RFC 9110 section
  /// 13.1.5).
  package static func allowsRange(requestFields: HTTPFields, stored: StoredResponse) -> Bool {
    guard let condition = requestFields["If-Range"] else { return true }
    if let tag = EntityTag(condition) {
      return stored.fields["ETag"].flatMap(EntityTag.init).map(tag.stronglyMatches) ?? false
    }
    // A date is a strong validator only if it equals the `Last-Modified` of a response made at least a second later.
    guard let date = HTTPDate.parse(condition, now: stored.receivedAt),
      let modified = stored.fields["Last-Modified"].flatMap({ HTTPDate.parse($0, now: stored.receivedAt) })
    else { return false }
    return date == modified
      && Freshness.dateValue(fields: stored.fields, receivedAt: stored.receivedAt).minus(modified) >= 1000
  }

  private static func matchesAny(_ list: String, tag: String?) -> Bool {
    if FieldList.trimmed(list) == "*" { return true }
    guard let tag = tag.flatMap(EntityTag.init) else { return false }
    return EntityTag.list(list).contains(where: tag.weaklyMatches)
  }

  /// `Last-Modified`, else `Date`, else the time of receipt.
  private static func lastChange(of stored: StoredResponse) -> Int64 {
    stored.fields["Last-Modified"].flatMap { HTTPDate.parse($0, now: stored.receivedAt) }
      ?? Freshness.dateValue(fields: stored.fields, receivedAt: stored.receivedAt)
  }
}
