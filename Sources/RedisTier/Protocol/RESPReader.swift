/// Reads replies in the Redis protocol, of version 2 and 3, from pieces of any length.
///
/// The server is not trusted: what is malformed or beyond a limit throws, and nothing traps. After an error the
/// connection is useless, since the beginning of the next reply is unknown.
struct RESPReader {
  /// What is wrong with the bytes.
  enum Problem: Error, Hashable {
    /// They are not in the protocol.
    case malformed
    /// Something in them is deeper, longer or more than the limits.
    case tooLarge
  }

  /// The deepest nesting of arrays and maps.
  static let depthLimit = 64
  /// The most values in one reply, all levels together.
  static let countLimit = 1_024
  /// The longest string in bytes.
  static let stringLimit = 512 << 10
  /// The longest reply in bytes.
  private static let replyLimit = 2 << 20
  /// The longest line: a type and a number, or an error's words.
  private static let lineLimit = 4_096

  private var buffer: [UInt8] = []
  private var start = 0
  /// The number of bytes needed before it is worth reading from `start` again.
  private var needed = 1

  /// Whether nothing is left of an unfinished reply.
  var isEmpty: Bool { start == buffer.count }

  /// Adds bytes as they came.
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if start == buffer.count {
      buffer.removeAll(keepingCapacity: buffer.capacity <= Self.replyLimit)
      start = 0
    } else if start > 256 << 10 {
      buffer.removeSubrange(..<start)
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// Adds bytes as they came.
  mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

  /// The replies that these bytes complete; the rest is kept.
  ///
  /// If nothing was kept before, the replies are read in place: of a reply that comes in one piece only the
  /// strings are copied.
  mutating func replies(with bytes: UnsafeRawBufferPointer) -> (whole: [RESPValue], problem: Problem?) {
    var whole: [RESPValue] = []
    do throws(Problem) {
      var rest = bytes
      while isEmpty, !rest.isEmpty {
        let (value, count) = try rest.withMemoryRebound(to: UInt8.self) { (bytes) throws(Problem) in
          try Self.read(bytes)
        }
        guard let value else {
          try wait(for: count)
          break
        }
        whole.append(value)
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
      append(rest)
      while let value = try next() { whole.append(value) }
    } catch {
      return (whole, error)
    }
    return (whole, nil)
  }

  /// The next reply, or `nil` until more of it has come.
  mutating func next() throws(Problem) -> RESPValue? {
    guard buffer.count - start >= needed else { return nil }
    let result = buffer.withUnsafeBufferPointer { bytes in
      Result { () throws(Problem) in try Self.read(.init(rebasing: bytes[start...])) }
    }
    let (value, count) = try result.get()
    guard let value else {
      try wait(for: count)
      return nil
    }
    start += count
    needed = 1
    return value
  }

  /// A reply with its length, or no reply with the least length that it has.
  private static func read(_ bytes: UnsafeBufferPointer<UInt8>) throws(Problem) -> (RESPValue?, Int) {
    var cursor = Cursor(bytes: bytes)
    let value = try cursor.value(depth: 0)
    return (value, value == nil ? cursor.wanted : cursor.place)
  }

  private mutating func wait(for count: Int) throws(Problem) {
    guard count <= Self.replyLimit else { throw .tooLarge }
    needed = max(count, 1)
  }

  /// A position in the bytes received of one reply.
  private struct Cursor {
    let bytes: UnsafeBufferPointer<UInt8>
    var place = 0
    /// How many values have been read.
    var count = 0
    /// How many bytes the reply has at least, where it is not whole.
    var wanted = 0

    /// A value, or `nil` where it is not whole.
    mutating func value(depth: Int) throws(Problem) -> RESPValue? {
      guard depth <= RESPReader.depthLimit else { throw .tooLarge }
      count += 1
      guard count <= RESPReader.countLimit else { throw .tooLarge }
      guard let line = try line(), let type = line.first else { return nil }
      let rest = UnsafeBufferPointer(rebasing: line.dropFirst())
      let nothing = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
      switch Unicode.Scalar(type) {
      case "+", ",": return .string(Array(rest))
      case "-": return .error(String(decoding: rest, as: UTF8.self))
      case ":": return .integer(try number(rest))
      case "(": return (try? number(rest)).map { .integer($0) } ?? .string(Array(rest))
      case "_": return .null
      case "#": return .integer(rest.first == UInt8(ascii: "t") ? 1 : 0)
      case "$": return try string(rest).map { $0.map { .string(Array($0)) } ?? .null }
      // Verbatim: three letters for its kind and a colon stand before it.
      case "=": return try string(rest).map { .string(Array(($0 ?? nothing).dropFirst(4))) }
      case "!": return try string(rest).map { .error(String(decoding: $0 ?? nothing, as: UTF8.self)) }
      case "*", "~": return try elements(rest, times: 1, depth).map { $0.map { .array($0) } ?? .null }
      case "%": return try elements(rest, times: 2, depth).map { .array($0 ?? []) }
      case ">": return try elements(rest, times: 1, depth).map { .push($0 ?? []) }
      // Attributes, which stand before the value that they describe.
      case "|": return try elements(rest, times: 2, depth) == nil ? nil : try value(depth: depth + 1)
      default: throw .malformed
      }
    }

    /// The next line without its end, never empty; `nil` where it is not whole.
    private mutating func line() throws(Problem) -> UnsafeBufferPointer<UInt8>? {
      let rest = UnsafeBufferPointer(rebasing: bytes[place...].prefix(RESPReader.lineLimit))
      guard let end = rest.firstIndex(of: 0x0D), end + 1 < rest.count else {
        guard rest.count < RESPReader.lineLimit else { throw .tooLarge }
        wanted = bytes.count + 1
        return nil
      }
      guard end > 0, rest[end + 1] == 0x0A else { throw .malformed }
      place += end + 2
      return .init(rebasing: rest[..<end])
    }

    private func number(_ digits: UnsafeBufferPointer<UInt8>) throws(Problem) -> Int64 {
      guard let number = Int64(String(decoding: digits, as: UTF8.self)) else { throw .malformed }
      return number
    }

    /// The bytes of a string of that length: `.some(nil)` for the null of version 2, `nil` where it is not whole.
    private mutating func string(
      _ digits: UnsafeBufferPointer<UInt8>
    ) throws(Problem) -> UnsafeBufferPointer<UInt8>?? {
      let length = try number(digits)
      guard length != -1 else { return .some(nil) }
      guard length >= 0 else { throw .malformed }
      guard length <= RESPReader.stringLimit else { throw .tooLarge }
      let end = place + Int(length)
      guard bytes.count >= end + 2 else {
        wanted = end + 2
        return nil
      }
      guard bytes[end] == 0x0D, bytes[end + 1] == 0x0A else { throw .malformed }
      defer { place = end + 2 }
      return .init(rebasing: bytes[place..<end])
    }

    /// The members of an array: `.some(nil)` for the null of version 2, `nil` where it is not whole.
    private mutating func elements(
      _ digits: UnsafeBufferPointer<UInt8>, times: Int, _ depth: Int
    ) throws(Problem) -> [RESPValue]?? {
      let length = try number(digits)
      guard length != -1 else { return .some(nil) }
      guard length >= 0 else { throw .malformed }
      guard length <= RESPReader.countLimit / times else { throw .tooLarge }
      var elements: [RESPValue] = []
      // The server may announce more elements than it sends.
      elements.reserveCapacity(min(Int(length) * times, 16))
      for _ in 0..<(Int(length) * times) {
        guard let element = try value(depth: depth + 1) else { return nil }
        elements.append(element)
      }
      return elements
    }
  }
}
