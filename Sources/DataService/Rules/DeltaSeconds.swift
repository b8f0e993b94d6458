/// A non-negative whole number of seconds in a field value (RFC 9111 section 1.2.2).
package enum DeltaSeconds {
  /// The largest value: what is larger, or overflows, counts as this.
  package static let maximum: Int64 = 1 << 31

  /// The seconds that the text says: digits only, of any number; `nil` for everything else.
  package static func parse(_ text: String) -> Int64? {
    guard !text.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in text.utf8 {
      guard byte.isAsciiDigit else { return nil }
      // Stays below 2^31 * 10 + 10, so that the arithmetic cannot overflow however many digits come.
      value = min(value * 10 + Int64(byte - 0x30), maximum)
    }
    return value
  }
}
