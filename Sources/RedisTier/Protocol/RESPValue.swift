/// One reply in the Redis protocol, of version 2 or 3.
enum RESPValue: Hashable, Sendable {
  /// A simple, bulk or verbatim string.
  case string([UInt8])
  /// An integer, or a big number that is one.
  case integer(Int64)
  /// What the server says went wrong: a code in capitals, and words.
  case error(String)
  /// Nothing.
  case null
  /// An array, a set, or the keys and values of a map in turn.
  case array([RESPValue])
  /// A message that answers no command.
  case push([RESPValue])

  /// The bytes of a string.
  var bytes: [UInt8]? {
    if case .string(let bytes) = self { bytes } else { nil }
  }

  /// The number of an integer, or of a string of digits: scripts return numbers as text.
  var number: Int64? {
    switch self {
    case .integer(let number): number
    case .string(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
    default: nil
    }
  }

  /// The microseconds of a server's time: seconds, and microseconds beside them.
  var microseconds: Int64? {
    guard let parts = elements, parts.count == 2, let seconds = parts[0].number, let rest = parts[1].number,
      seconds >= 0, (0..<1_000_000).contains(rest)
    else { return nil }
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (sum, isTooLarge) = product.addingReportingOverflow(rest)
    return isTooLong || isTooLarge ? nil : sum
  }

  /// The members of an array.
  var elements: [RESPValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The words of an error.
  var failure: String? {
    if case .error(let text) = self { text } else { nil }
  }
}
