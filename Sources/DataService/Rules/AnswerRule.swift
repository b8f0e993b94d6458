package import CacheStore

/// Decides, for every policy but `http`, what an origin's answer delivers and what it does to the stored row.
package enum AnswerRule {
  /// The request and the stored row at the moment the final head arrives.
  package struct Situation: Sendable, Hashable {
    /// The method of the request.
    package var method: RequestMethod = .get
    /// Whether a method other than GET and HEAD is marked as a read.
    package var isRead = false
    /// The caller's own fields.
    package var requestFields: HTTPFields = [:]
    /// Whether the request bypasses the store.
    package var isPassThrough = false
    /// Whether the URL that answered received our own validator.
    package var wasConditional = false
    /// The fields of the row that gave the validator, while that row is present and intact.
    package var rowFields: HTTPFields?
    /// The row that matched the request, while it is present and intact; for `http` alone.
    package var row: StoredResponse?
    /// Whether this is already the second try.
    package var isRepeated = false
    /// Whether the request or a redirect before the final answer says `no-store`.
    package var isNoStoreChain = false
    /// Whether the caller wants the answer stored despite `no-store`.
    package var keepsAnyway = false
    /// Whether a temporary redirect led to another host, and the stored row did not take that redirect: a captive
    /// portal may be answering.
    package var isPortalSuspect = false
    /// Whether the answer is of a media type that the caller accepts.
    package var isAcceptedMediaType = true

    /// A GET with nothing stored.
    package init() {}
  }

  /// What is delivered.
  package enum Delivery: Sendable, Hashable {
    /// The answer, as `fresh`.
    case fresh
    /// The stored status and body with the merged fields, as `fresh`.
    case freshByValidation
    /// `failure(mediaType)`.
    case mediaTypeFailure
    /// `failure(protocol)`.
    case protocolFailure
    /// Nothing yet: the exchange runs once more, without a condition.
    case repeatUnconditional
  }

  /// What becomes of the stored row.
  package enum Row: Sendable, Hashable {
    /// The answer replaces it.
    case replaced
    /// The 304 freshens it.
    case freshened
    /// Under `http`: the answer is not a 2xx and is stored for `http` only; the last good response stays.
    case keptForHTTPOnly
    /// Under `http`: the answer to HEAD freshens it (RFC 9111 section 4.3.5).
    case freshenedByHead
    /// Under `http`: the answer to HEAD describes another representation, so the row needs validation.
    case invalidatedByHead
    /// The row stays as it is. The delivery's `kept` states the reason.
    case untouched(DataService.KeptReason)

    /// Whether the answer's body is stored.
    package var isStored: Bool { self == .replaced || self == .keptForHTTPOnly }
  }

  /// The delivery, and what becomes of the row.
  package struct Decision: Sendable, Hashable {
    /// What is delivered.
    package var delivery: Delivery
    /// What becomes of the stored row.
    package var row: Row
    package init(_ delivery: Delivery, _ row: Row) {
      self.delivery = delivery
      self.row = row
    }

    static let protocolFailure = Self(.protocolFailure, .untouched(.status))
    static let repeatUnconditional = Self(.repeatUnconditional, .untouched(.status))
  }

  /// Whether the status is a passing failure: the same request may succeed later.
  package static func isFailure(_ status: Int) -> Bool { DataServiceError.isPassing(status: status) }

  /// Decides from the final answer; `fields` are its fields. Whether a failure, or a portal's page, is delivered as one
  /// each load decides, from its policy and its stored response.
  package static func decide(status: Int, fields: HTTPFields, situation: Situation) -> Decision {
    switch status {
    case 304 where situation.wasConditional:
      // A 304 that forbids storing still confirms the row. Only its own fields are not written.
      return validated(fields, situation, rowFields: situation.rowFields) {
        forbidsStoring(fields, situation)
      }
    case _ where isUnasked(status, situation): return .protocolFailure
    case 200..<300 where !situation.isAcceptedMediaType:
      return Decision(.mediaTypeFailure, .untouched(.mediaType))
    case 200..<300 where status != 206 && situation.isPortalSuspect && !situation.isPassThrough:
      return Decision(.fresh, .untouched(.portal))
    case 200..<300 where status != 206:
      return Decision(.fresh, rowAfterSuccess(fields: fields, situation: situation))
    default: return Decision(.fresh, .untouched(situation.isPassThrough ? .passThrough : .status))
    }
  }

  /// Whether the status answers a condition or range that the caller did not send.
  static func isUnasked(_ status: Int, _ situation: Situation) -> Bool {
    switch status {
    case 304: !PassThrough.hasPrecondition(situation.requestFields)
    case 206: !PassThrough.hasRange(situation.requestFields)
    default: false
    }
  }

  /// Decides for a 304 to our own validator.
  static func validated(
    _ fields: HTTPFields, _ situation: Situation, rowFields: HTTPFields?, isForbidden: () -> Bool
  ) -> Decision {
    guard let rowFields, !Validators.names304Another(stored: rowFields, answer: fields) else {
      return situation.isRepeated ? .protocolFailure : .repeatUnconditional
    }
    if isForbidden() { return Decision(.freshByValidation, .untouched(.noStore)) }
    // With it no request would match the row, and the last good response would be lost.
    if Vary.names(in: fields) == "*" { return Decision(.freshByValidation, .untouched(.vary)) }
    return Decision(.freshByValidation, .freshened)
  }

  private static func forbidsStoring(_ fields: HTTPFields, _ situation: Situation) -> Bool {
    !situation.keepsAnyway && (situation.isNoStoreChain || CacheControl.forbidsStoring(fields))
  }

  private static func rowAfterSuccess(fields: HTTPFields, situation: Situation) -> Row {
    if situation.isPassThrough { return .untouched(.passThrough) }
    if situation.method == .head { return .untouched(.method) }
    if forbidsStoring(fields, situation) { return .untouched(.noStore) }
    if Vary.names(in: fields) == "*" { return .untouched(.vary) }
    return .replaced
  }
}

extension RetryAfter {
  /// The delay that `Retry-After` asks for, for the statuses whose `Retry-After` is honoured (RFC 9110 section 10.2.3,
  /// RFC 6585); `nil` for any other.
  static func delay(of answer: Answer, now: Int64) -> Duration? {
    delay(status: answer.head.status, fields: answer.head.fields, now: now)
  }

  static func delay(status: Int, fields: HTTPFields, now: Int64) -> Duration? {
    guard [429, 503].contains(status) else { return nil }
    return fields["Retry-After"].flatMap { delay($0, date: fields["Date"], now: now) }
  }
}
