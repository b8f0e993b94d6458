/// The order for the process of `--background`: its command line, and the contents of the files it names.
///
/// It is passed as bytes, because every user of the machine can read a process's arguments. The first process reads the
/// files: a pipe can be read only once, and standard input belongs to the command.
struct BackgroundOrder: Equatable {
  var words: [String] = []
  /// By path as written.
  var files: [String: [UInt8]] = [:]

  /// The encoded order: each part follows its length.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    Self.add(words.count, to: &bytes)
    for word in words { Self.add(Array(word.utf8), to: &bytes) }
    for (path, content) in files.sorted(by: { $0.key < $1.key }) {
      Self.add(Array(path.utf8), to: &bytes)
      Self.add(content, to: &bytes)
    }
    return bytes
  }

  init(words: [String] = [], files: [String: [UInt8]] = [:]) {
    self.words = words
    self.files = files
  }

  /// `nil` if the bytes are not an order.
  init?(_ bytes: [UInt8]) {
    var rest = bytes[...]
    guard let count = Self.takeNumber(&rest), count <= rest.count else { return nil }
    for _ in 0..<count {
      guard let word = Self.takePart(&rest) else { return nil }
      words.append(String(decoding: word, as: UTF8.self))
    }
    while !rest.isEmpty {
      guard let path = Self.takePart(&rest), let content = Self.takePart(&rest) else { return nil }
      files[String(decoding: path, as: UTF8.self)] = Array(content)
    }
  }

  private static func add(_ number: Int, to bytes: inout [UInt8]) {
    for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  private static func add(_ part: [UInt8], to bytes: inout [UInt8]) {
    add(part.count, to: &bytes)
    bytes += part
  }

  private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> Int? {
    guard rest.count >= 8 else { return nil }
    let number = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    rest = rest.dropFirst(8)
    return Int(exactly: number)
  }

  private static func takePart(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard let count = takeNumber(&rest), count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
