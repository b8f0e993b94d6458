package import CacheStore

/// How long a response is fresh, how old it is, and so whether it is stale (RFC 9111 section 4.2).
///
/// Durations are milliseconds, instants milliseconds since 1970-01-01 UTC. Every function is total: instants before
/// 1970, clocks set back and overflowing sums give an answer, and no age is ever negative.
package enum Freshness {
  /// How long a response is fresh, and what says so.
  package struct Lifetime: Sendable, Hashable {
    /// The part of the response that the lifetime comes from.
    package enum Source: String, Sendable, Hashable {
      /// `Cache-Control: max-age`.
      case maxAge = "max-age"
      /// `Expires` less `Date`.
      case expires = "expires"
      /// A tenth of the time since `Last-Modified` (section 4.2.2).
      case heuristic = "heuristic"
      /// Nothing: there is no default lifetime.
      case none = "none"
    }
    /// The lifetime; zero where nothing gives one or what gives it is invalid.
    package var milliseconds: Int64
    /// What it comes from.
    package var source: Source
    /// Whether the source is there but contradicts itself or cannot be read, which counts as stale (section 4.2.1).
    package var isInvalid = false
  }

  /// The longest heuristic lifetime: a week.
  package static let heuristicLimit: Int64 = 7 * 86_400_000
  /// How far in the future a row may lie before its clock is not believed: a minute.
  package static let futureTolerance: Int64 = 60_000

  /// The freshness lifetime for a private cache (section 4.2.1): `max-age`, else `Expires` less `Date`, else the
  /// heuristic. `s-maxage` is for shared caches and ignored.
  package static func lifetime(status: Int, fields: HTTPFields, receivedAt: Int64) -> Lifetime {
    switch CacheControl(fields: fields).maxAge {
    case .value(let seconds): return Lifetime(milliseconds: seconds * 1000, source: .maxAge)
    case .invalid: return Lifetime(milliseconds: 0, source: .maxAge, isInvalid: true)
    case .absent: break
    }
    let expires = fields.values(of: "Expires")
    if let first = expires.first {
      // Section 5.3: an invalid date, "0" above all, means the past. Two different ones contradict each other.
      guard expires.allSatisfy({ $0 == first }), let instant = HTTPDate.parse(first, now: receivedAt) else {
        return Lifetime(milliseconds: 0, source: .expires, isInvalid: true)
      }
      let lifetime = instant.minus(dateValue(fields: fields, receivedAt: receivedAt))
      return Lifetime(milliseconds: max(0, lifetime), source: .expires)
    }
    return heuristicLifetime(status: status, fields: fields, receivedAt: receivedAt)
  }

  /// The heuristic lifetime (section 4.2.2), for responses whose status or `public` allows one; a tenth of the time
  /// between `Last-Modified` and `Date`, at most ``heuristicLimit``.
  package static func heuristicLifetime(status: Int, fields: HTTPFields, receivedAt: Int64) -> Lifetime {
    guard isHeuristicallyCacheable(status) || CacheControl(fields: fields).isPublic,
      let modified = fields["Last-Modified"].flatMap({ HTTPDate.parse($0, now: receivedAt) })
    else { return Lifetime(milliseconds: 0, source: .none) }
    let sinceModified = max(0, dateValue(fields: fields, receivedAt: receivedAt).minus(modified))
    return Lifetime(milliseconds: min(sinceModified / 10, heuristicLimit), source: .heuristic)
  }

  /// Whether the status code's definition lets a cache work out a lifetime (RFC 9110 section 15.1).
  package static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
  }

  /// `date_value`: the origin's time of the response, or the time of receipt where `Date` is missing or invalid
  /// (RFC 9110 section 6.6.1).
  package static func dateValue(fields: HTTPFields, receivedAt: Int64) -> Int64 {
    fields["Date"].flatMap { HTTPDate.parse($0, now: receivedAt) } ?? receivedAt
  }

  /// `age_value`: the first member of `Age`; zero where there is none or it is not a number (section 5.1).
  package static func ageValue(fields: HTTPFields) -> Int64 {
    let first = fields["Age"].flatMap { FieldList.members($0).first }
    return (first.flatMap(DeltaSeconds.parse) ?? 0) * 1000
  }

  /// The age of a response (section 4.2.3), with what the exchange itself took counted in.
  package static func currentAge(fields: HTTPFields, requestedAt: Int64, receivedAt: Int64, now: Int64)
    -> Int64
  {
    AgeTerms(fields: fields, requestedAt: requestedAt, receivedAt: receivedAt, now: now).currentAge
  }

  /// Whether a row was received so far in the future that the clock must have been set back since.
  package static func isFromFuture(receivedAt: Int64, now: Int64) -> Bool {
    receivedAt.minus(now) > futureTolerance
  }

  /// The age of a stored response as it is shown: zero for one from the future.
  package static func age(of stored: StoredResponse, now: Int64) -> Int64 {
    guard !isFromFuture(receivedAt: stored.receivedAt, now: now) else { return 0 }
    return currentAge(
      fields: stored.fields, requestedAt: stored.requestedAt, receivedAt: stored.receivedAt, now: now)
  }

  /// The freshness lifetime of a stored response.
  package static func lifetime(of stored: StoredResponse) -> Lifetime {
    lifetime(status: stored.status, fields: stored.fields, receivedAt: stored.receivedAt)
  }

  /// Whether a stored response is stale: its lifetime is over, an unsafe request has made it invalid, or it comes
  /// from the future, so that its age is not known.
  package static func isStale(stored: StoredResponse, now: Int64) -> Bool {
    stored.isInvalid || isFromFuture(receivedAt: stored.receivedAt, now: now)
      || lifetime(of: stored).milliseconds <= age(of: stored, now: now)
  }

  /// Whether a stored response is not older than the caller allows, in milliseconds; never for one that is invalid
  /// or from the future.
  package static func isYoung(_ stored: StoredResponse, maxAge: Int64, now: Int64) -> Bool {
    !stored.isInvalid && !isFromFuture(receivedAt: stored.receivedAt, now: now)
      && age(of: stored, now: now) <= maxAge
  }

  /// Whether a stored response was received, or last validated, less than so many milliseconds ago; never one that is invalid or
  /// from the future. Of one that seems to be from the next minute the clock is a little off: it was received now.
  package static func isRecent(_ stored: StoredResponse, within limit: Int64, now: Int64) -> Bool {
    !stored.isInvalid && !isFromFuture(receivedAt: stored.receivedAt, now: now)
      && max(0, now.minus(stored.receivedAt)) < limit
  }
}

extension Int64 {
  /// The sum, or the nearest number there is.
  func plus(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, or the nearest number there is.
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

/// The terms of an age, under the names that RFC 9111 section 4.2.3 gives them; all in milliseconds, none negative.
package struct AgeTerms: Sendable, Hashable {
  /// What `Age` says.
  package let ageValue: Int64
  /// How far `Date` lies before the receipt.
  package let apparentAge: Int64
  /// What the exchange took.
  package let responseDelay: Int64
  /// How long the response has been here.
  package let residentTime: Int64

  /// The terms of a response with these fields.
  package init(fields: HTTPFields, requestedAt: Int64, receivedAt: Int64, now: Int64) {
    ageValue = Freshness.ageValue(fields: fields)
    // Date has whole seconds: without rounding, every answer would arrive up to a second old.
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
