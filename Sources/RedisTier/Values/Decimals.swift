// Numbers as the protocol and the names have them: in ASCII digits. By way of a `String` each would take ten times as long.
extension [UInt8] {
  /// Adds a number in digits.
  mutating func append(decimal number: Int64) {
    if number < 0 { append(0x2D) }
    append(digits: number.magnitude)
  }

  private mutating func append(digits number: UInt64) {
    if number >= 10 { append(digits: number / 10) }
    append(0x30 + UInt8(number % 10))
  }
}

extension Int64 {
  /// The number that digits stand for, perhaps behind a sign; `nil` for anything else, and for one that is too large.
  init?(decimal digits: some Collection<UInt8>) {
    let isNegative = digits.first == 0x2D
    let digits = isNegative || digits.first == 0x2B ? digits.dropFirst() : digits[...]
    guard !digits.isEmpty else { return nil }
    var number: Int64 = 0
    for digit in digits {
      guard (0x30...0x39).contains(digit) else { return nil }
      let value = Int64(digit - 0x30)
      let (product, isTooLong) = number.multipliedReportingOverflow(by: 10)
      // The least number has no positive counterpart, so that one below zero is added up below zero.
      let (sum, isTooLarge) = product.addingReportingOverflow(isNegative ? -value : value)
      guard !isTooLong, !isTooLarge else { return nil }
      number = sum
    }
    self = number
  }
}
