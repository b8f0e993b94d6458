/// How long an origin asks to be left alone (RFC 9110 section 10.2.3).
package enum RetryAfter {
  /// How long the origin asks to be left alone: `value` is a number of seconds, or a date. `nil` where it is neither; an
  /// instant that has passed is no time at all.
  ///
  /// A date is taken from the response's own `Date` where that is one, since both come from the same clock.
  package static func delay(_ value: String, date: String? = nil, now: Int64) -> Duration? {
    if let seconds = DeltaSeconds.parse(value) { return .seconds(seconds) }
    guard let instant = HTTPDate.parse(value, now: now) else { return nil }
    return .milliseconds(max(0, instant - (date.flatMap { HTTPDate.parse($0, now: now) } ?? now)))
  }
}
