/// Parses successive requests from a connection's bytes.
///
/// Accepts complete requests as this project's clients send them: a request line, field lines, and a body by
/// `Content-Length` or chunked.
struct RequestReader {
  /// Why a connection's bytes are not a request.
  struct Malformed: Error {
    let what: String
  }

  private var buffer: [UInt8] = []
  private let more: () throws -> [UInt8]
  private let sayContinue: () throws -> Void

  init(more: @escaping () throws -> [UInt8], sayContinue: @escaping () throws -> Void) {
    self.more = more
    self.sayContinue = sayContinue
  }

  /// The next request, or `nil` if the client closed the connection between two requests.
  mutating func next(connection: Int) throws -> FixtureRequest? {
    guard let head = try readHead() else { return nil }
    var lines = head.split(separator: 0x0A, omittingEmptySubsequences: true).map { line in
      line.last == 0x0D ? line.dropLast() : line
    }
    guard !lines.isEmpty else { throw Malformed(what: "no request line") }
    let words = String(decoding: lines.removeFirst(), as: UTF8.self).split(separator: " ").map(String.init)
    guard words.count == 3 else { throw Malformed(what: "request line") }
    let fields = try lines.filter { !$0.isEmpty }.map(Self.field)
    let draft = FixtureRequest(
      method: words[0], target: words[1], version: words[2], fields: fields, body: [],
      connection: connection, rawHead: head)
    let body = try readBody(of: draft)
    return FixtureRequest(
      method: words[0], target: words[1], version: words[2], fields: fields, body: body,
      connection: connection, rawHead: head)
  }

  private mutating func readHead() throws -> [UInt8]? {
    var searched = 0
    while true {
      if let end = endOfHead(from: searched) {
        defer { buffer.removeFirst(end) }
        return Array(buffer[..<end])
      }
      searched = max(0, buffer.count - 3)
      let bytes = try more()
      if bytes.isEmpty {
        guard buffer.isEmpty else { throw Malformed(what: "closed inside a head") }
        return nil
      }
      buffer += bytes
    }
  }

  private func endOfHead(from start: Int) -> Int? {
    guard buffer.count >= 4, start <= buffer.count - 4 else { return nil }
    for index in start...(buffer.count - 4)
    where buffer[index] == 0x0D && buffer[index + 1] == 0x0A && buffer[index + 2] == 0x0D
      && buffer[index + 3] == 0x0A
    {
      return index + 4
    }
    return nil
  }

  private mutating func readBody(of request: FixtureRequest) throws -> [UInt8] {
    let isChunked = request["Transfer-Encoding"]?.lowercased() == "chunked"
    let length = request["Content-Length"].flatMap(Int.init) ?? 0
    guard isChunked || length > 0 else { return [] }
    if request["Expect"]?.lowercased() == "100-continue", buffer.isEmpty { try sayContinue() }
    guard isChunked else { return try take(length) }
    var body: [UInt8] = []
    while true {
      let size = try takeLine().prefix { $0 != UInt8(ascii: ";") }
      guard let count = Int(String(decoding: size, as: UTF8.self), radix: 16) else {
        throw Malformed(what: "chunk size")
      }
      guard count > 0 else { break }
      body += try take(count)
      _ = try takeLine()
    }
    while try !takeLine().isEmpty {}
    return body
  }

  private mutating func take(_ count: Int) throws -> [UInt8] {
    while buffer.count < count { try fill() }
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  private mutating func takeLine() throws -> [UInt8] {
    while true {
      if let end = buffer.firstIndex(of: 0x0A) {
        defer { buffer.removeFirst(end + 1) }
        let line = buffer[..<end]
        return Array(line.last == 0x0D ? line.dropLast() : line)
      }
      try fill()
    }
  }

  private mutating func fill() throws {
    let bytes = try more()
    guard !bytes.isEmpty else { throw Malformed(what: "closed inside a body") }
    buffer += bytes
  }

  private static func field(_ line: ArraySlice<UInt8>) throws -> FixtureField {
    guard let colon = line.firstIndex(of: 0x3A) else { throw Malformed(what: "field line") }
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    var value = line[(colon + 1)...].drop(while: isBlank)
    while let last = value.last, isBlank(last) { value = value.dropLast() }
    return FixtureField(rawName: Array(line[..<colon]), rawValue: Array(value))
  }
}
