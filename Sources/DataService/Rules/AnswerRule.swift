package import CacheStore

/// What an origin's answer does under every policy but `http`: what is delivered, and what becomes of the
/// stored row.
package enum AnswerRule {
  /// What was asked, and what the store holds, when the final answer's head is there.
  package struct Situation: Sendable, Hashable {
    /// The method of the request.
    package var method: RequestMethod = .get
    /// Whether the request passes the store by.
    package var isPassThrough = false
    /// Whether the caller sent `Range`.
    package var hasCallerRange = false
    /// Whether the caller sent a precondition.
    package var hasCallerPrecondition = false
    /// Whether our own validator was sent to the URL that answered.
    package var wasConditional = false
    /// The fields of the row that the validator came from, as long as that row is still there and whole.
    package var rowFields: HTTPFields?
    /// Whether a usable row exists and the policy may fall back on it.
    package var canFallBack = false
    /// Whether the exchange has been repeated already.
    package var isRepeated = false
    /// Whether `no-store` stands on the request or on a hop before the final answer.
    package var isNoStoreChain = false
    /// Whether the caller wants the answer kept despite `no-store`.
    package var keepsAnyway = false
    /// Whether a temporary redirect led to another host, and the stored row did not come that way.
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
    /// Nothing yet: the exchange is repeated once, without a condition.
    case repeatUnconditional
  }

  /// What becomes of the stored row.
  package enum Row: Sendable, Hashable {
    /// The answer replaces it.
    case replaced
    /// The 304 freshens it.
    case freshened
    /// Under `http`: the answer, no 2xx, is kept beside it.
    case keptBeside
    /// Under `http`: the answer to HEAD freshens it (RFC 9111 section 4.3.5).
    case freshenedByHead
    /// Under `http`: the answer to HEAD speaks of another representation, so that it has to be validated.
    case invalidatedByHead
    /// It stays, byte for byte; the reason is what the delivery's `kept` says.
    case untouched(DataService.KeptReason)

    /// Whether the answer's body is stored.
    package var isStored: Bool { self == .replaced || self == .keptBeside }
  }

  /// Both.
  package struct Outcome: Sendable, Hashable {
    /// What is delivered.
    package var delivery: Delivery
    /// What becomes of the stored row.
    package var row: Row
    package init(_ delivery: Delivery, _ row: Row) {
      self.delivery = delivery
      self.row = row
    }
  }

  /// Whether the status says that the answer is not to be had now.
  package static func isFailure(_ status: Int) -> Bool { DataServiceError.isPassing(status: status) }

  /// Decides; `fields` are those of the final answer.
  package static func decide(status: Int, fields: HTTPFields, situation: Situation) -> Outcome {
    switch status {
    case 304 where situation.wasConditional: return validated(fields: fields, situation: situation)
    case 304 where !situation.hasCallerPrecondition: return Outcome(.protocolFailure, .untouched(.status))
    case 206 where !situation.hasCallerRange: return Outcome(.protocolFailure, .untouched(.status))
    case 200..<300 where !situation.isAcceptedMediaType:
      return Outcome(.mediaTypeFailure, .untouched(.mediaType))
    case 200..<300 where status != 206 && situation.isPortalSuspect && !situation.isPassThrough:
      return Outcome(situation.canFallBack ? .portalFailure : .fresh, .untouched(.portal))
    case 200..<300 where status != 206:
      return Outcome(.fresh, rowAfterSuccess(fields: fields, situation: situation))
    case _ where isFailure(status):
      return Outcome(situation.canFallBack ? .statusFailure : .fresh, untouched(situation))
    default: return Outcome(.fresh, untouched(situation))
    }
  }

  private static func validated(fields: HTTPFields, situation: Situation) -> Outcome {
    guard let rowFields = situation.rowFields,
      !Validators.names304Another(stored: rowFields, answer: fields)
    else {
      return situation.isRepeated
        ? Outcome(.protocolFailure, .untouched(.status)) : Outcome(.repeatUnconditional, .untouched(.status))
    }
    // A 304 that forbids storing still confirms the row; only what it says itself is not written.
    let isForbidden = situation.isNoStoreChain || CacheControl.forbidsStoring(fields)
    return Outcome(
      .freshByValidation, isForbidden && !situation.keepsAnyway ? .untouched(.noStore) : .freshened)
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
