package import CacheStore

/// The freshness lifetime, age and staleness of a response (RFC 9111 section 4.2).
///
/// Durations are milliseconds; instants are milliseconds since 1970-01-01 UTC. Every input gives a result, even
/// instants before 1970, clocks set back and overflowing sums. No age is negative.
package enum Freshness {
  /// A freshness lifetime and its source.
  package struct Lifetime: Sendable, Hashable {
    /// The part of the response that the lifetime comes from.
    package enum Source: String, Sendable, Hashable {
      /// `Cache-Control: s-maxage`, in a shared cache.
      case sharedMaxAge = "s-maxage"
      /// `Cache-Control: max-age`.
      case maxAge = "max-age"
      /// `Expires` less `Date`.
      case expires = "expires"
      /// A tenth of the time since `Last-Modified` (section 4.2.2).
      case heuristic = "heuristic"
      /// No source; there is no default lifetime.
      case none = "none"
    }
    /// The lifetime; zero without a valid source.
    package var milliseconds: Int64
    /// The part of the response that gave the lifetime.
    package var source: Source
    /// Whether the source is present but unreadable or contradictory, which counts as stale (section 4.2.1).
    package var isInvalid = false
  }

  /// The longest heuristic lifetime: a week.
  package static let heuristicLimit: Int64 = 7 * 86_400_000
  /// How far in the future a row's time of receipt may lie before the clock counts as set back: a minute.
  package static let futureTolerance: Int64 = 60_000

  /// The freshness lifetime (section 4.2.1): `max-age`, else `Expires` less `Date`, else the heuristic. `s-maxage`
  /// comes first in a shared cache, and is ignored in a private one.
  package static func lifetime(
    status: Int, fields: HTTPFields, receivedAt: Int64, isShared: Bool = false
  ) -> Lifetime {
    let control = CacheControl(fields: fields)
    switch isShared ? control.sharedMaxAge : .absent {
    case .value(let seconds): return Lifetime(milliseconds: seconds * 1000, source: .sharedMaxAge)
    case .invalid: return Lifetime(milliseconds: 0, source: .sharedMaxAge, isInvalid: true)
    case .absent: break
    }
    switch control.maxAge {
    case .value(let seconds): return Lifetime(milliseconds: seconds * 1000, source: .maxAge)
    case .invalid: return Lifetime(milliseconds: 0, source: .maxAge, isInvalid: true)
    case .absent: break
    }
    let expires = fields.values(of: "Expires")
    if let first = expires.first {
      // Section 5.3: an invalid date, such as "0", means the past. Two different dates contradict each other.
      guard expires.allSatisfy({ $0 == first }), let instant = HTTPDate.parse(first, now: receivedAt) else {
        return Lifetime(milliseconds: 0, source: .expires, isInvalid: true)
      }
      let lifetime = instant.minus(dateValue(fields: fields, receivedAt: receivedAt))
      return Lifetime(milliseconds: max(0, lifetime), source: .expires)
    }
    return heuristicLifetime(status: status, fields: fields, receivedAt: receivedAt)
  }

  /// The heuristic lifetime (section 4.2.2) for responses whose status or `public` allows one: a tenth of the time
  /// between `Last-Modified` and `Date`, at most ``heuristicLimit``.
  package static func heuristicLifetime(status: Int, fields: HTTPFields, receivedAt: Int64) -> Lifetime {
    guard isHeuristicallyCacheable(status) || CacheControl(fields: fields).isPublic,
      let modified = fields["Last-Modified"].flatMap({ HTTPDate.parse($0, now: receivedAt) })
    else { return Lifetime(milliseconds: 0, source: .none) }
    let sinceModified = max(0, dateValue(fields: fields, receivedAt: receivedAt).minus(modified))
    return Lifetime(milliseconds: min(sinceModified / 10, heuristicLimit), source: .heuristic)
  }

  /// Whether the status code is heuristically cacheable (RFC 9110 section 15.1).
  package static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
  }

  /// `date_value`: the origin's `Date`, or the time of receipt if `Date` is missing or invalid (RFC 9110 section
  /// 6.6.1).
  package static func dateValue(fields: HTTPFields, receivedAt: Int64) -> Int64 {
    fields["Date"].flatMap { HTTPDate.parse($0, now: receivedAt) } ?? receivedAt
  }

  /// `age_value`: the first member of `Age`, or zero if it is missing or not a number (section 5.1).
  package static func ageValue(fields: HTTPFields) -> Int64 {
    let first = fields["Age"].flatMap { FieldList.members($0).first }
    return (first.flatMap(DeltaSeconds.parse) ?? 0) * 1000
  }

  /// The age of a response (section 4.2.3), including the duration of the exchange.
  package static func currentAge(fields: HTTPFields, requestedAt: Int64, receivedAt: Int64, now: Int64)
    -> Int64
  {
    AgeTerms(fields: fields, requestedAt: requestedAt, receivedAt: receivedAt, now: now).currentAge
  }

  /// Whether a row's time of receipt lies so far in the future that the clock must have been set back since.
  package static func isFromFuture(receivedAt: Int64, now: Int64) -> Bool {
    receivedAt.minus(now) > futureTolerance
  }

  /// The displayed age of a stored response; zero if the response is from the future.
  package static func age(of stored: StoredResponse, now: Int64) -> Int64 {
    guard !isFromFuture(receivedAt: stored.receivedAt, now: now) else { return 0 }
    return currentAge(
      fields: stored.fields, requestedAt: stored.requestedAt, receivedAt: stored.receivedAt, now: now)
  }

  /// The freshness lifetime of a stored response.
  package static func lifetime(of stored: StoredResponse, isShared: Bool = false) -> Lifetime {
    lifetime(
      status: stored.status, fields: stored.fields, receivedAt: stored.receivedAt, isShared: isShared)
  }

  /// Whether a stored response is stale: its lifetime has passed, an unsafe request has invalidated it, or it is from
  /// the future and its age is unknown.
  package static func isStale(stored: StoredResponse, now: Int64) -> Bool {
    stored.isInvalid || isFromFuture(receivedAt: stored.receivedAt, now: now)
      || lifetime(of: stored).milliseconds <= age(of: stored, now: now)
  }

  /// ``FreshnessInputs/isYoung(maxAge:)`` of a row.
  package static func isYoung(_ stored: StoredResponse, maxAge: Int64, now: Int64) -> Bool {
    FreshnessInputs(stored: stored, now: now).isYoung(maxAge: maxAge)
  }

  /// ``FreshnessInputs/isRecent(within:)`` of a row.
  package static func isRecent(_ stored: StoredResponse, within limit: Int64, now: Int64) -> Bool {
    FreshnessInputs(stored: stored, now: now).isRecent(within: limit)
  }
}

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

  /// The inputs of a response that has just come.
  init(fresh head: ReceivedHead, now: Int64) {
    self.init(
      status: head.status, fields: head.fields, requestedAt: head.requestedAt, receivedAt: head.receivedAt,
      now: now, isStored: false)
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

  /// Whether the response was received, or last validated, less than so many milliseconds ago; never one that is
  /// invalid or from the future. A response dated within the next minute counts as received now, since the clock is
  /// slightly off.
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

extension Int64 {
  /// The sum, clamped to the range of `Int64`.
  func plus(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, clamped to the range of `Int64`.
  func minus(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other > 0 ? .min : .max) : difference
  }

  /// The quotient rounded towards minus infinity; the divisor is positive.
  func floorDivided(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }

  /// The remainder, never negative; the divisor is positive.
  func floorModulo(_ divisor: Int64) -> Int64 {
    let remainder = self % divisor
    return remainder < 0 ? remainder + divisor : remainder
  }
}

/// The terms of an age, named as in RFC 9111 section 4.2.3; in milliseconds, never negative.
package struct AgeTerms: Sendable, Hashable {
  /// The value of `Age`.
  package let ageValue: Int64
  /// The time from `Date` to the receipt.
  package let apparentAge: Int64
  /// The duration of the exchange.
  package let responseDelay: Int64
  /// The time since the receipt.
  package let residentTime: Int64

  /// The terms of a response with these fields.
  package init(fields: HTTPFields, requestedAt: Int64, receivedAt: Int64, now: Int64) {
    ageValue = Freshness.ageValue(fields: fields)
    // `Date` has whole seconds. Without rounding, every response would arrive up to a second old.
    let receivedSecond = receivedAt.minus(receivedAt.floorModulo(1000))
    apparentAge =
      fields["Date"].flatMap { HTTPDate.parse($0, now: receivedAt) }.map { max(0, receivedSecond.minus($0)) }
      ?? 0
    responseDelay = max(0, receivedAt.minus(requestedAt))
    residentTime = max(0, now.minus(receivedAt))
  }

  /// `corrected_age_value`.
  package var correctedAgeValue: Int64 { ageValue.plus(responseDelay) }
  /// `corrected_initial_age`.
  package var correctedInitialAge: Int64 { max(apparentAge, correctedAgeValue) }
  /// `current_age`.
  package var currentAge: Int64 { correctedInitialAge.plus(residentTime) }
}
