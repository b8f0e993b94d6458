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

/// Commands in the Redis protocol: arrays of bulk strings, which may contain any byte.
struct RESPWriter {
  /// What has been written.
  private(set) var bytes: [UInt8] = []
  /// How many commands that is.
  private(set) var count = 0

  init() {}

  /// Commands with their arguments.
  init(_ commands: [[[UInt8]]]) {
    for command in commands { write(command) }
  }

  /// Adds a command and its arguments.
  mutating func write(_ words: [[UInt8]]) {
    // A value may be long.
    bytes.reserveCapacity(words.reduce(bytes.count + 16) { $0 + $1.count + 16 })
    begin(words.count)
    for word in words {
      line(0x24, word.count)
      bytes += word
      end()
    }
  }

  /// Adds a command and its arguments.
  mutating func write(_ words: [String]) {
    begin(words.count)
    for word in words {
      line(0x24, word.utf8.count)
      bytes += word.utf8
      end()
    }
  }

  private mutating func begin(_ words: Int) {
    count += 1
    line(0x2A, words)
  }

  private mutating func line(_ type: UInt8, _ count: Int) {
    bytes.append(type)
    bytes.append(contentsOf: "\(count)".utf8)
    end()
  }

  private mutating func end() {
    bytes.append(0x0D)
    bytes.append(0x0A)
  }
}
