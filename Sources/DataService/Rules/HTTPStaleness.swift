package import CacheStore

/// Decides when a stale response may be served (RFC 9111 section 4.2.4, RFC 5861).
package enum HTTPStaleness {
  /// How an exchange with the origin failed.
  package enum Failure: Sendable, Hashable {
    /// No answer: the origin was unreachable, timed out or closed the connection.
    case noAnswer
    /// An answer with this status.
    case status(Int)
  }

  /// Whether an exchange that failed so brought no answer from the origin: it was unreachable, closed the connection,
  /// or is paused. Cancellation by the caller and wrong answers of the origin do not count.
  package static func isUnheard(_ kind: DataServiceError.Kind) -> Bool {
    kind.isConnectivity || [.proxy, .truncated, .paused, .libraryMissing].contains(kind)
      || kind.isTimeout || kind.isTLS
  }

  /// How long a response has been stale, in milliseconds; zero or negative while it is fresh.
  package static func staleness(of stored: StoredResponse, now: Int64) -> Int64 {
    Freshness.age(of: stored, now: now).minus(Freshness.lifetime(of: stored).milliseconds)
  }

  /// Whether the response forbids every use without validation once stale: by `must-revalidate`, by `no-cache`, or
  /// because an unsafe request has invalidated it (sections 5.2.2.2, 5.2.2.4 and 4.4). `proxy-revalidate` and
  /// `s-maxage` apply to shared caches only, and so to a row that came through one.
  package static func isForbidden(_ stored: StoredResponse) -> Bool {
    let control = CacheControl(fields: stored.fields)
    return control.mustRevalidate || control.noCache == .whole || stored.isInvalid
      || stored.isFromSharedCache && control.mustRevalidateShared
  }

  /// Whether a stale response may be served at once because the caller's `max-stale` allows it (section 5.2.1.2).
  package static func isAllowedByRequest(
    _ stored: StoredResponse, directives: RequestDirectives, now: Int64
  ) -> Bool {
    !isForbidden(stored) && directives.asksForStaleness(staleness(of: stored, now: now))
  }

  /// Whether a stale response may be served while it is validated (RFC 5861 section 3): `stale-while-revalidate`
  /// covers its staleness, and the request does not rule that out.
  package static func isAllowedWhileRevalidating(
    _ stored: StoredResponse, directives: RequestDirectives, now: Int64
  ) -> Bool {
    let staleness = staleness(of: stored, now: now)
    guard let seconds = CacheControl(fields: stored.fields).staleWhileRevalidate.value else { return false }
    return !isForbidden(stored) && staleness < seconds * 1000 && !directives.rulesOutStaleness(staleness)
  }

  /// Whether a stored response may be served although the exchange failed. Without an answer, any response may be
  /// that neither origin nor request rules out (section 4.2.4, disconnected). After 500, 502, 503 or 504, it must be
  /// within `stale-if-error` of the response or the request (RFC 5861 section 4).
  package static func isAllowed(
    _ stored: StoredResponse, after failure: Failure, directives: RequestDirectives, now: Int64
  ) -> Bool {
    let staleness = staleness(of: stored, now: now)
    guard !isForbidden(stored), !directives.rulesOutStaleness(staleness) else { return false }
    switch failure {
    case .noAnswer: return true
    case .status(let status):
      let windows = [CacheControl(fields: stored.fields).staleIfError, directives.control.staleIfError]
      let longest = windows.compactMap(\.value).max()
      return [500, 502, 503, 504].contains(status) && longest.map { staleness <= $0 * 1000 } ?? false
    }
  }
}
