internal import CacheStore

/// What a response's age and staleness are worked out from, when somebody asks.
///
/// Most callers want the body alone, and reading the dates out of the fields costs a fifth of a stored look.
package struct FreshnessInputs: Sendable, Equatable {
  let status: Int
  let fields: HTTPFields
  let requestedAt: Int64
  let receivedAt: Int64
  /// When the delivery was made: the age is that of then, however late it is asked for.
  let now: Int64
  /// Whether it came out of the store.
  package let isStored: Bool
  /// Whether an unsafe request has made it invalid (RFC 9111 section 4.4).
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

  /// That of a stored response.
  init(stored row: StoredResponse, now: Int64) {
    self.init(
      status: row.status, fields: row.fields, requestedAt: row.requestedAt, receivedAt: row.receivedAt,
      now: now, isStored: true, isInvalid: row.isInvalid)
  }

  /// The age in milliseconds (RFC 9111 section 4.2.3); zero for a row from the future.
  var age: Int64 {
    if isFromFuture { return 0 }
    return Freshness.currentAge(fields: fields, requestedAt: requestedAt, receivedAt: receivedAt, now: now)
  }

  /// Whether the freshness lifetime is over, or it is not known whether it is.
  var isStale: Bool { isInvalid || isFromFuture || age >= lifetime }

  /// The remaining freshness lifetime in seconds, negative once it is over.
  var secondsLeft: Int64 { (lifetime - age) / 1000 }

  private var isFromFuture: Bool { isStored && Freshness.isFromFuture(receivedAt: receivedAt, now: now) }

  private var lifetime: Int64 {
    Freshness.lifetime(status: status, fields: fields, receivedAt: receivedAt).milliseconds
  }
}
