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
