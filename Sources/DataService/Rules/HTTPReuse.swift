package import CacheStore

package enum HTTPReuse {
  /// What is done.
  package enum Action: String, Sendable, Hashable {
    /// The stored response is the answer.
    case reuse
    /// The stored response is the answer and is validated in the background.
    case reuseWhileRevalidating
    /// A conditional request asks the origin to validate the stored response.
    case validate
    /// An unconditional request asks the origin for the response.
    case fetch
    /// No answer: the request says `only-if-cached`, and no stored response is usable.
    case gatewayTimeout
  }

  /// The rule that decided, with its section.
  package enum Reason: String, Sendable, Hashable {
    case method = "method is not one that is stored (section 3)"
    case precondition = "If-Match and If-Unmodified-Since are the server's to judge (section 4.3.2)"
    case nothingStored = "nothing is stored under the key (section 4)"
    case varyMismatch = "no stored variant matches the request (section 4.1)"
    case fresh = "fresh (section 4.2)"
    case immutable = "fresh and immutable (RFC 8246 section 2)"
    case maxStale = "stale, which the request's max-stale allows (section 5.2.1.2)"
    case staleWhileRevalidate = "stale, within stale-while-revalidate (RFC 5861 section 3)"
    case invalidated = "an unsafe request has invalidated it (section 4.4)"
    case redirected = "reached through a redirect, which is not stored with it (section 4)"
    case responseNoCache = "the response says no-cache (section 5.2.2.4)"
    case requestNoCache = "the request says no-cache (section 5.2.1.4)"
    case fromFuture = "received in the future: its age is not known (section 4.2.3)"
    case stale = "stale (section 4.2)"
    case requestMaxAge = "older than the request's max-age (section 5.2.1.1)"
    case requestMinFresh = "not fresh for the request's min-fresh (section 5.2.1.3)"
  }

  /// The action, the row it concerns, and the reason.
  package struct Decision: Sendable, Hashable {
    /// What is done.
    package var action: Action
    /// The rule that decided.
    package var reason: Reason
    /// The row that matches the request, usable or not.
    package var row: StoredResponse?
    /// Why the request is forwarded; `nil` if it is not.
    package var forward: CacheStatus.Forward?

    package init(
      action: Action, reason: Reason, row: StoredResponse? = nil, forward: CacheStatus.Forward? = nil
    ) {
      self.action = action
      self.reason = reason
      self.row = row
      self.forward = forward
    }
  }

  /// Decides.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - fields: The caller's own request fields.
  ///   - isRead: Whether a method other than GET and HEAD is marked as a read.
  ///   - url: The URL of the request. A row with another response URL was reached through a redirect; `nil` skips
  ///     that check.
  ///   - rows: All rows of the key, the last good response and those kept for `http` only.
  ///   - now: The instant of the request.
  ///   - protect: Replaces a secret field's value in `variant`.
  package static func decide(
    method: RequestMethod, fields: HTTPFields, isRead: Bool = false, url: String? = nil,
    rows: [StoredResponse],
    now: Int64, protect: Vary.Protection
  ) -> Decision {
    let directives = RequestDirectives(fields: fields)
    var decision: Decision
    if let reason = reasonToBypass(method: method, fields: fields, isRead: isRead) {
      decision = Decision(action: .fetch, reason: reason, forward: reason == .method ? .method : .bypass)
    } else if let row = Vary.select(from: rows, requestFields: fields, protect: protect) {
      decision = judge(row, directives: directives, url: url, now: now)
    } else {
      decision = Decision(
        action: .fetch, reason: rows.isEmpty ? .nothingStored : .varyMismatch,
        forward: rows.isEmpty ? .uriMiss : .varyMiss)
    }
    if directives.control.onlyIfCached { applyOnlyIfCached(to: &decision) }
    return decision
  }

  /// Why the request bypasses the store; `nil` if it does not.
  private static func reasonToBypass(method: RequestMethod, fields: HTTPFields, isRead: Bool) -> Reason? {
    guard method == .get || method == .head || isRead else { return .method }
    return fields.contains("If-Match") || fields.contains("If-Unmodified-Since") ? .precondition : nil
  }

  /// Section 5.2.1.7: `only-if-cached` forbids any exchange. A response in hand is served without validation, and
  /// everything that needs the origin is a 504.
  private static func applyOnlyIfCached(to decision: inout Decision) {
    switch decision.action {
    case .reuse, .gatewayTimeout: break
    case .reuseWhileRevalidating: decision.action = .reuse
    case .validate, .fetch: decision.action = .gatewayTimeout
    }
    decision.forward = nil
  }

  private static func judge(
    _ row: StoredResponse, directives: RequestDirectives, url: String?, now: Int64
  ) -> Decision {
    func forwarded(_ reason: Reason, _ forward: CacheStatus.Forward) -> Decision {
      let action: Action = Validators.canValidate(row) ? .validate : .fetch
      return Decision(action: action, reason: reason, row: row, forward: forward)
    }
    if let reason = reasonToValidateAlways(row, url: url, now: now) { return forwarded(reason, .stale) }
    if directives.demandsValidation { return forwarded(.requestNoCache, .request) }
    let age = Freshness.age(of: row, now: now)
    var lifetime = Freshness.lifetime(of: row).milliseconds
    // A row through a shared cache has to be fresh for that one too, and is not served stale.
    if row.isFromSharedCache {
      lifetime = min(lifetime, Freshness.lifetime(of: row, isShared: true).milliseconds)
    }
    let remaining = lifetime.minus(age)
    guard remaining > 0 else {
      if row.isFromSharedCache { return forwarded(.stale, .stale) }
      return judgeStale(row, directives: directives, now: now, forwarded: forwarded)
    }
    guard directives.acceptsFreshness(remaining) else { return forwarded(.requestMinFresh, .request) }
    guard !directives.acceptsAge(age) else { return Decision(action: .reuse, reason: .fresh, row: row) }
    // The `max-age` of a reload does not apply to a response that cannot change; `no-cache` does.
    return CacheControl(fields: row.fields).isImmutable
      ? Decision(action: .reuse, reason: .immutable, row: row) : forwarded(.requestMaxAge, .request)
  }

  private static func judgeStale(
    _ row: StoredResponse, directives: RequestDirectives, now: Int64,
    forwarded: (Reason, CacheStatus.Forward) -> Decision
  ) -> Decision {
    let age = Freshness.age(of: row, now: now)
    if HTTPStaleness.isAllowedByRequest(row, directives: directives, now: now), directives.acceptsAge(age),
      directives.control.minFresh == .absent
    {
      return Decision(action: .reuse, reason: .maxStale, row: row)
    }
    if HTTPStaleness.isAllowedWhileRevalidating(row, directives: directives, now: now) {
      return Decision(
        action: .reuseWhileRevalidating, reason: .staleWhileRevalidate, row: row, forward: .stale)
    }
    return forwarded(.stale, .stale)
  }

  /// Why the row needs validation at any age; `nil` if its age decides.
  private static func reasonToValidateAlways(_ row: StoredResponse, url: String?, now: Int64) -> Reason? {
    if row.isInvalid { return .invalidated }
    if let url, let responseURL = row.responseURL, responseURL != url { return .redirected }
    if CacheControl(fields: row.fields).noCache == .whole { return .responseNoCache }
    return Freshness.isFromFuture(receivedAt: row.receivedAt, now: now) ? .fromFuture : nil
  }
}
