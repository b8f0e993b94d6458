/// Commands in the Redis protocol: arrays of bulk strings, in which any byte may stand.
struct RESPWriter {
  /// What has been written.
  private(set) var bytes: [UInt8] = []

  /// Adds a command and its arguments.
  mutating func write(_ words: [[UInt8]]) {
    bytes.reserveCapacity(bytes.count + words.reduce(16) { $0 + $1.count + 16 })
    line(0x2A, words.count)
    for word in words {
      line(0x24, word.count)
      bytes += word
      end()
    }
  }

  private mutating func line(_ type: UInt8, _ count: Int) {
    bytes.append(type)
    bytes.append(contentsOf: String(count).utf8)
    end()
  }

  private mutating func end() {
    bytes.append(0x0D)
    bytes.append(0x0A)
  }
}
