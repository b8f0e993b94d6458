package import CacheStore

/// Decides, for every policy but `http`, what an origin's answer delivers and what it does to the stored row.
package enum AnswerRule {
  /// The request and the stored row at the moment the final head arrives.
  package struct Situation: Sendable, Hashable {
    /// The method of the request.
    package var method: RequestMethod = .get
    /// Whether the request bypasses the store.
    package var isPassThrough = false
    /// Whether the caller sent `Range`.
    package var hasCallerRange = false
    /// Whether the caller sent a precondition.
    package var hasCallerPrecondition = false
    /// Whether the URL that answered received our own validator.
    package var wasConditional = false
    /// The fields of the row that gave the validator, while that row is present and intact.
    package var rowFields: HTTPFields?
    /// Whether a usable row exists and the policy may fall back on it.
    package var canFallBack = false
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
    /// `failure(status)` with the last known response.
    case statusFailure
    /// `failure(portal)` with the last known response.
    case portalFailure
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
  }

  /// Whether the status is a passing failure: the same request may succeed later.
  package static func isFailure(_ status: Int) -> Bool { DataServiceError.isPassing(status: status) }

  /// Decides from the final answer; `fields` are its fields.
  package static func decide(status: Int, fields: HTTPFields, situation: Situation) -> Decision {
    switch status {
    case 304 where situation.wasConditional: return validated(fields: fields, situation: situation)
    case 304 where !situation.hasCallerPrecondition: return Decision(.protocolFailure, .untouched(.status))
    case 206 where !situation.hasCallerRange: return Decision(.protocolFailure, .untouched(.status))
    case 200..<300 where !situation.isAcceptedMediaType:
      return Decision(.mediaTypeFailure, .untouched(.mediaType))
    case 200..<300 where status != 206 && situation.isPortalSuspect && !situation.isPassThrough:
      return Decision(situation.canFallBack ? .portalFailure : .fresh, .untouched(.portal))
    case 200..<300 where status != 206:
      return Decision(.fresh, rowAfterSuccess(fields: fields, situation: situation))
    case _ where isFailure(status):
      return Decision(situation.canFallBack ? .statusFailure : .fresh, untouched(situation))
    default: return Decision(.fresh, untouched(situation))
    }
  }

  private static func validated(fields: HTTPFields, situation: Situation) -> Decision {
    guard let rowFields = situation.rowFields,
      !Validators.names304Another(stored: rowFields, answer: fields)
    else {
      return situation.isRepeated
        ? Decision(.protocolFailure, .untouched(.status))
        : Decision(.repeatUnconditional, .untouched(.status))
    }
    // A 304 that forbids storing still confirms the row. Only its own fields are not written.
    let isForbidden = situation.isNoStoreChain || CacheControl.forbidsStoring(fields)
    if isForbidden, !situation.keepsAnyway { return Decision(.freshByValidation, .untouched(.noStore)) }
    // With it no request would match the row, and the last good response would be lost.
    if Vary.names(in: fields) == "*" { return Decision(.freshByValidation, .untouched(.vary)) }
    return Decision(.freshByValidation, .freshened)
  }

  private static func rowAfterSuccess(fields: HTTPFields, situation: Situation) -> Row {
    if situation.isPassThrough { return .untouched(.passThrough) }
    if situation.method == .head { return .untouched(.method) }
    if !situation.keepsAnyway, situation.isNoStoreChain || CacheControl.forbidsStoring(fields) {
      return .untouched(.noStore)
    }
    if Vary.names(in: fields) == "*" { return .untouched(.vary) }
    return .replaced
  }

  private static func untouched(_ situation: Situation) -> Row {
    .untouched(situation.isPassThrough ? .passThrough : .status)
  }
}

extension AnswerRule {
  /// Decides under `http`: translates the verdict of RFC 9111 into the outcomes that the other policies use.
  static func decideHTTP(
    status: Int, fields: HTTPFields, situation: Situation, prepared: PreparedRequest, row: StoredResponse?,
    now: Int64
  ) -> Decision {
    if (200..<300).contains(status), !situation.isAcceptedMediaType {
      return Decision(.mediaTypeFailure, .untouched(.mediaType))
    }
    // A captive portal's page changes no stored response under any policy (law 5); it is delivered. A part is no page,
    // and is never stored.
    if (200..<300).contains(status), status != 206, situation.isPortalSuspect, !situation.isPassThrough {
      return Decision(.fresh, .untouched(.portal))
    }
    var judged = HTTPAnswer.Situation(method: prepared.request.method, requestFields: prepared.fields)
    judged.isRead = prepared.request.isRead
    judged.wasConditional = situation.wasConditional
    judged.row = row
    judged.isRepeated = situation.isRepeated
    judged.isNoStoreChain = situation.isNoStoreChain
    switch HTTPAnswer.decide(status: status, fields: fields, situation: judged, now: now) {
    case .deliver(.good): return Decision(.fresh, .replaced)
    case .deliver(.forHTTPOnly): return Decision(.fresh, .keptForHTTPOnly)
    case .deliver(.no(let reason)): return Decision(.fresh, .untouched(reason))
    case .freshen(let unwritten):
      return Decision(.freshByValidation, unwritten.map(Row.untouched) ?? .freshened)
    case .deliverAndFreshen: return Decision(.fresh, .freshenedByHead)
    case .deliverAndInvalidate: return Decision(.fresh, .invalidatedByHead)
    // Each load serves its own stored response.
    case .serveStale: return Decision(.statusFailure, .untouched(.status))
    case .repeatUnconditional: return Decision(.repeatUnconditional, .untouched(.status))
    case .protocolFailure: return Decision(.protocolFailure, .untouched(.status))
    }
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
