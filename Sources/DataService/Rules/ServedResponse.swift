package import CacheStore

/// A stored response as delivered under `http` (RFC 9111 section 4): the head, and a range of the body.
package struct ServedResponse: Sendable, Hashable {
  /// The status.
  package var status: Int
  /// The reason phrase.
  package var reason: String
  /// The fields, with `Age`.
  package var fields: HTTPFields
  /// The bytes of the stored body; empty for HEAD, 304 and 416.
  package var body: Range<Int64>

  /// Makes the answer to a request with these fields from a stored response.
  ///
  /// A matching precondition makes it a 304 (section 4.3.2); a range of a 200 makes it a 206 or 416 (RFC 9110 section
  /// 14.2); HEAD has no body. `isValidated` says that a 304 has just confirmed the response, which permits the fields
  /// that `no-cache` names.
  package init(
    _ stored: StoredResponse, method: RequestMethod, requestFields: HTTPFields, now: Int64,
    isValidated: Bool = false
  ) {
    status = stored.status
    reason = stored.reason
    fields = Self.fields(of: stored, now: now, isValidated: isValidated)
    body = 0..<stored.body.length
    if stored.head.isDecoded { describeDecoded(stored.body.length) }
    if Precondition.isNotModified(requestFields: requestFields, stored: stored) {
      becomeNotModified()
    } else if method == .get, stored.status == 200, let range = requestFields["Range"],
      Precondition.allowsRange(requestFields: requestFields, stored: stored)
    {
      become(ByteRange.answer(to: range, length: stored.body.length), length: stored.body.length)
    }
    if method == .head { body = 0..<0 }
  }

  /// The stored fields with the current `Age` in whole seconds (section 4), without the fields that `no-cache` names
  /// (section 5.2.2.4) unless the response has just been validated.
  package static func fields(of stored: StoredResponse, now: Int64, isValidated: Bool = false) -> HTTPFields {
    var fields = stored.fields
    if case .fields(let names) = CacheControl(fields: fields).noCache, !isValidated {
      let named = Set(names)
      fields.removeAll { named.contains(FieldList.lowercased($0)) }
    }
    fields["Age"] = String(Freshness.age(of: stored, now: now) / 1000)
    return fields
  }

  /// Another policy stored these bytes decoded, so the coding is removed and the length becomes theirs
  /// (RFC 9110 section 8.4).
  private mutating func describeDecoded(_ length: Int64) {
    fields.remove("Content-Encoding")
    if fields.contains("Content-Length") { fields["Content-Length"] = String(length) }
  }

  /// RFC 9110 section 15.4.5: a 304 has no body, so the fields that describe one are dropped.
  private mutating func becomeNotModified() {
    status = 304
    reason = "Not Modified"
    let dropped = ["content-length", "content-type", "content-encoding", "content-language", "content-range"]
    fields.removeAll { dropped.contains(FieldList.lowercased($0)) }
    body = 0..<0
  }

  private mutating func become(_ answer: ByteRange.Answer, length: Int64) {
    switch answer {
    case .whole: return
    case .part(let part):
      status = 206
      reason = "Partial Content"
      fields["Content-Range"] = ByteRange.contentRange(part, length: length)
      fields["Content-Length"] = String(part.upperBound - part.lowerBound)
      body = part
    case .unsatisfiable:
      status = 416
      reason = "Range Not Satisfiable"
      fields["Content-Range"] = "bytes */\(length)"
      fields["Content-Length"] = "0"
      body = 0..<0
    }
  }
}

/// Evaluates the caller's own preconditions against a stored response (RFC 9111 section 4.3.2).
package enum Precondition {
  /// Whether the caller's `If-None-Match`, or without one its `If-Modified-Since`, matches, so that a 304 is the
  /// answer.
  ///
  /// Preconditions apply only to a stored response that would be a 200 (RFC 9110 section 13.2.1).
  package static func isNotModified(requestFields: HTTPFields, stored: StoredResponse) -> Bool {
    guard stored.status == 200 else { return false }
    if requestFields.contains("If-None-Match") {
      let tags = requestFields.exact.values(of: "If-None-Match")
      return matchesAny(tags.joined(separator: ", "), tag: stored.fields.exact["ETag"])
    }
    guard let text = requestFields["If-Modified-Since"],
      let since = HTTPDate.parse(text, now: stored.receivedAt)
    else { return false }
    return lastChange(of: stored) <= since
  }

  /// Whether a range may be cut from the stored response: `If-Range` is absent or matches strongly (RFC 9110 section
  /// 13.1.5).
  package static func allowsRange(requestFields: HTTPFields, stored: StoredResponse) -> Bool {
    guard let condition = requestFields.exact["If-Range"] else { return true }
    if let tag = EntityTag(condition) {
      return stored.fields.exact["ETag"].flatMap(EntityTag.init).map(tag.stronglyMatches) ?? false
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

/// One range of bytes out of a body (RFC 9110 section 14.1.2).
package enum ByteRange {
  /// The part of a body that a `Range` field selects.
  package enum Answer: Sendable, Hashable {
    /// The whole body: a server may ignore a field that is malformed, uses another unit or lists several ranges
    /// (section 14.2).
    case whole
    /// These bytes, at least one.
    case part(Range<Int64>)
    /// No byte of this body.
    case unsatisfiable
  }

  /// The part that `value` selects of a body of `length` bytes.
  package static func answer(to value: String, length: Int64) -> Answer {
    guard let (unit, list) = FieldList.split(value, at: Ascii.equals), FieldList.lowercased(unit) == "bytes"
    else {
      return .whole
    }
    let ranges = FieldList.members(list)
    guard ranges.count == 1, let (first, last) = FieldList.split(ranges[0], at: Ascii.hyphen) else {
      return .whole
    }
    return first.isEmpty ? suffix(last, length: length) : range(first, last, length: length)
  }

  /// The `Content-Range` of `part`.
  package static func contentRange(_ part: Range<Int64>, length: Int64) -> String {
    "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)"
  }

  private static func suffix(_ count: String, length: Int64) -> Answer {
    guard let count = number(count) else { return .whole }
    guard count > 0, length > 0 else { return .unsatisfiable }
    return .part(max(0, length - count)..<length)
  }

  private static func range(_ first: String, _ last: String, length: Int64) -> Answer {
    guard let first = number(first) else { return .whole }
    guard !last.isEmpty else { return first < length ? .part(first..<length) : .unsatisfiable }
    guard let last = number(last), last >= first else { return .whole }
    return first < length ? .part(first..<min(last, length - 1) + 1) : .unsatisfiable
  }

  /// The number in `text`, or `nil` unless it is all digits. A number too large for `Int64` counts as the largest.
  private static func number(_ text: String) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy(\.isAsciiDigit) else { return nil }
    return Int64(text) ?? .max
  }
}
