internal import CacheStore

/// The inputs for a response's age and staleness, which are computed on demand.
///
/// Most callers want the body alone; then no date is parsed.
package struct FreshnessInputs: Sendable, Equatable {
  let status: Int
  let fields: HTTPFields
  let requestedAt: Int64
  let receivedAt: Int64
  /// The time of the delivery. The age refers to it, however late the caller asks.
  let now: Int64
  /// Whether the response came from the store.
  package let isStored: Bool
  /// Whether an unsafe request has invalidated the response (RFC 9111 section 4.4).
  var isInvalid = false

  init(
    status: Int, fields: HTTPFields, requestedAt: Int64, receivedAt: Int64, now: Int64, isStored: Bool,
    isInvalid: Bool = false
  ) {
    self.status = status
    self.fields = fields
    self.requestedAt = requestedAt
    self.receivedAt = receivedAt
    self.now = now
    self.isStored = isStored
    self.isInvalid = isInvalid
  }

  /// The inputs of a stored response. It is borrowed, since an initialiser otherwise copies the whole row.
  init(stored row: borrowing StoredResponse, now: Int64) {
    self.init(
      status: row.status, fields: row.fields, requestedAt: row.requestedAt, receivedAt: row.receivedAt,
      now: now, isStored: true, isInvalid: row.isInvalid)
  }

  /// The age in milliseconds (RFC 9111 section 4.2.3); zero for a row from the future.
  var age: Int64 {
    if isFromFuture { return 0 }
    return Freshness.currentAge(fields: fields, requestedAt: requestedAt, receivedAt: receivedAt, now: now)
  }

  /// Whether the freshness lifetime has passed or cannot be known.
  var isStale: Bool { isInvalid || isFromFuture || age >= lifetime }

  /// Whether the response is at most `maxAge` milliseconds old. An invalid response, or one from the future, never is.
  func isYoung(maxAge: Int64) -> Bool { !isInvalid && !isFromFuture && age <= maxAge }

  /// Whether the response was received, or last validated, less than so many milliseconds ago; never one that is invalid or from
  /// the future. A response dated within the next minute counts as received now, since the clock is slightly off.
  func isRecent(within limit: Int64) -> Bool {
    !isInvalid && !isFromFuture && max(0, now.minus(receivedAt)) < limit
  }

  /// The remaining freshness lifetime in seconds; negative once stale.
  var secondsLeft: Int64 { (lifetime - age) / 1000 }

  private var isFromFuture: Bool { isStored && Freshness.isFromFuture(receivedAt: receivedAt, now: now) }

  private var lifetime: Int64 {
    Freshness.lifetime(status: status, fields: fields, receivedAt: receivedAt).milliseconds
  }
}
