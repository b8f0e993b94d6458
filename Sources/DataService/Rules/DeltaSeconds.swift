/// A non-negative whole number of seconds in a field value (RFC 9111 section 1.2.2).
package enum DeltaSeconds {
  /// The largest value. Larger numbers, and those that overflow, count as this one.
  package static let maximum: Int64 = 1 << 31

  /// The seconds in the text, or `nil` unless it is all digits, however many.
  package static func parse(_ text: String) -> Int64? {
    guard !text.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in text.utf8 {
      guard byte.isAsciiDigit else { return nil }
      // Stays below 2^31 * 10 + 10, so the arithmetic cannot overflow, however long the number.
      value = min(value * 10 + Int64(byte - 0x30), maximum)
    }
    return value
  }
}

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
