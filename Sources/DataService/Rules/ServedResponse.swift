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
    if ContentCoding.isDecoded(stored) { describeDecoded(stored.body.length) }
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
