/// Parses `Retry-After` (RFC 9110 section 10.2.3).
package enum RetryAfter {
  /// The requested delay: `value` is a number of seconds or a date. `nil` if it is neither; zero for a date in the
  /// past.
  ///
  /// A date is compared with the response's own `Date` if that is valid, since both come from the same clock.
  package static func delay(_ value: String, date: String? = nil, now: Int64) -> Duration? {
    if let seconds = DeltaSeconds.parse(value) { return .seconds(seconds) }
    guard let instant = HTTPDate.parse(value, now: now) else { return nil }
    return .milliseconds(max(0, instant - (date.flatMap { HTTPDate.parse($0, now: now) } ?? now)))
  }
}
