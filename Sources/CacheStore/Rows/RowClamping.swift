/// Numbers as they may stand in a row. A checksum says that they are as they were written, not who wrote them: they are
/// brought into a range in which every sum and difference of theirs is a number, too.
extension StoredResponse {
  /// Whether its status and its length are such.
  var isPlausible: Bool { status >= 100 && status <= 999 && body.length >= 0 }

  /// Brings instants and durations into range.
  mutating func clamp() {
    requestedAt = requestedAt.asInstant
    receivedAt = receivedAt.asInstant
    changedAt = changedAt.asInstant
    exchangeMilliseconds = exchangeMilliseconds.asCount
    body.length = body.length.asCount
    if !(100...999).contains(status) { status = 999 }
  }
}

extension Int64 {
  /// An instant in milliseconds, within the years that have four digits, either side of 1970.
  var asInstant: Int64 { Swift.min(Swift.max(self, -62_135_596_800_000), 253_402_300_799_999) }

  /// A count, a size or a duration: no less than nothing, and a million of the largest can be added up.
  var asCount: Int64 { Swift.min(Swift.max(self, 0), 1 << 43) }
}
