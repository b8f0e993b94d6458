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
