package import CacheStore

/// Decides what an origin's answer does under `http` (RFC 9111 sections 3, 4.3.3, 4.3.4 and 4.3.5).
package enum HTTPAnswer {
  /// The request and the stored row.
  package struct Situation: Sendable, Hashable {
    /// The method.
    package var method: RequestMethod
    /// The caller's own fields.
    package var requestFields: HTTPFields
    /// Whether a method other than GET and HEAD is marked as a read.
    package var isRead = false
    /// Whether the request carried the row's validators.
    package var wasConditional = false
    /// The row that matched the request, while it is present and intact.
    package var row: StoredResponse?
    /// Whether this is already the second try.
    package var isRepeated = false
    /// Whether a redirect before the answer says `no-store`.
    package var isNoStoreChain = false

    /// A request with nothing stored.
    package init(method: RequestMethod = .get, requestFields: HTTPFields = [:]) {
      self.method = method
      self.requestFields = requestFields
    }
  }

  /// What the load delivers and what the store writes.
  package enum Decision: Sendable, Hashable {
    /// The answer is delivered; its storability says how it is stored.
    case deliver(HTTPStoring.Storability)
    /// The row, freshened by the 304, is delivered. `unwritten` is the reason why the freshened fields may not be
    /// stored; `nil` where they may.
    case freshen(unwritten: DataService.KeptReason?)
    /// The answer to HEAD is delivered, and the row freshened by it.
    case deliverAndFreshen
    /// The answer is delivered, and the row marked invalid because the answer describes another representation.
    case deliverAndInvalidate
    /// The stored response is delivered in place of the error.
    case serveStale
    /// The exchange runs once more, without a condition.
    case repeatUnconditional
    /// `failure(protocol)`.
    case protocolFailure
  }

  /// Decides from the final answer; `fields` are its fields, received at `now`.
  package static func decide(status: Int, fields: HTTPFields, situation: Situation, now: Int64) -> Decision {
    switch status {
    case 304 where situation.wasConditional: return validated(fields: fields, situation: situation)
    case 304 where !hasPrecondition(situation): return .protocolFailure
    case 206 where !situation.requestFields.contains("Range"): return .protocolFailure
    case 500... where mayServeStale(status: status, situation: situation, now: now): return .serveStale
    default: break
    }
    if situation.method == .head { return headDecision(status: status, fields: fields, situation: situation) }
    return .deliver(
      HTTPStoring.decide(
        method: situation.method, requestFields: situation.requestFields, isRead: situation.isRead,
        status: status,
        fields: fields, receivedAt: now, isNoStoreChain: situation.isNoStoreChain))
  }

  private static func validated(fields: HTTPFields, situation: Situation) -> Decision {
    guard let row = situation.row, !Validators.names304Another(stored: row.fields, answer: fields) else {
      return situation.isRepeated ? .protocolFailure : .repeatUnconditional
    }
    let isForbidden =
      situation.isNoStoreChain
      || HTTPStoring.isForbidden(requestFields: situation.requestFields, status: row.status, fields: fields)
    if isForbidden { return .freshen(unwritten: .noStore) }
    return .freshen(unwritten: Vary.names(in: fields) == "*" ? .vary : nil)
  }

  private static func hasPrecondition(_ situation: Situation) -> Bool {
    PassThrough.hasPrecondition(situation.requestFields)
  }

  private static func mayServeStale(status: Int, situation: Situation, now: Int64) -> Bool {
    guard let row = situation.row else { return false }
    return HTTPStaleness.isAllowed(
      row, after: .status(status), directives: RequestDirectives(fields: situation.requestFields), now: now)
  }

  /// Section 4.3.5: a 200 to HEAD freshens the stored GET response if both describe the same representation, and
  /// invalidates it otherwise.
  private static func headDecision(status: Int, fields: HTTPFields, situation: Situation) -> Decision {
    guard status == 200, let row = situation.row, row.status == 200 else { return .deliver(.no(.method)) }
    guard HeadUpdate.agrees(stored: row, answer: fields) else { return .deliverAndInvalidate }
    let isForbidden =
      situation.isNoStoreChain
      || HTTPStoring.isForbidden(requestFields: situation.requestFields, status: status, fields: fields)
    if isForbidden { return .deliver(.no(.noStore)) }
    return Vary.names(in: fields) == "*" ? .deliver(.no(.vary)) : .deliverAndFreshen
  }
}

/// Whether an answer to HEAD describes the stored response (RFC 9111 section 4.3.5).
package enum HeadUpdate {
  /// Whether every validator in the answer, and its `Content-Length`, equal those of the stored response.
  package static func agrees(stored: StoredResponse, answer: HTTPFields) -> Bool {
    // No origin has confirmed these fields, so there is nothing to compare with.
    guard !stored.isUnconfirmed else { return false }
    for name in ["ETag", "Last-Modified"] {
      guard let answered = answer.exact[name] else { continue }
      guard let held = stored.fields.exact[name], FieldList.isSame(answered, held) else { return false }
    }
    // The length of a coded body says nothing of one that was decoded.
    guard let length = answer["Content-Length"],
      !answer.contains("Content-Encoding") || stored.fields.contains("Content-Encoding")
    else { return true }
    return length == stored.fields["Content-Length"] ?? String(stored.body.length)
  }
}
