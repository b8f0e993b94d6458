/// How long an origin asks to be left alone (RFC 9110 section 10.2.3).
package enum RetryAfter {
  /// The instant until which the origin asks to be left alone, in milliseconds since 1970-01-01 UTC: `value` is a
  /// number of seconds after `now`, or a date. `nil` where it is neither; an instant that has passed is `now`.
  package static func parse(_ value: String, now: Int64) -> Int64? {
    if let seconds = DeltaSeconds.parse(value) { return now.plus(seconds * 1000) }
    return HTTPDate.parse(value, now: now).map { max($0, now) }
  }
}
