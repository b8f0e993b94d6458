import CacheStore

/// Puts the lines of a response's heads together: the 1xx ones, then the final one (RFC 9112 sections 4 and 5).
///
/// Stricter than libcurl, which hands on what it does not understand: a malformed head fails the exchange, so that
/// it can replace nothing (design law 5). Its limits count all heads together, so that a flood of 1xx ends.
struct HeadParser {
  /// A final head, and what it says about the body.
  struct Head: Sendable {
    var version: String
    var status: Int
    var reason: String
    var fields: HTTPFields
    var interim: [TransportResponse.Interim]
    /// The value of `Content-Length`; `nil` where there is none or `Transfer-Encoding` overrides it.
    var contentLength: Int64?
    /// Whether a content coding is named, so that the decoded length is another.
    var isEncoded: Bool
  }

  /// What is wrong with a head, for a person.
  struct Problem: Error, Hashable { let message: String }

  private let byteLimit: Int
  private let countLimit: Int
  private var byteCount = 0
  private var fieldCount = 0
  private var interim: [TransportResponse.Interim] = []
  private var version = ""
  private var status = 0
  private var reason = ""
  private var wire: [UInt8] = []
  private var lengths: [Int64] = []
  private var isChunked = false
  private var isEncoded = false
  private var isComplete = false

  /// - Parameters:
  ///   - byteLimit: The most bytes in all heads.
  ///   - countLimit: The most fields in all heads.
  init(byteLimit: Int, countLimit: Int) {
    self.byteLimit = byteLimit
    self.countLimit = countLimit
  }

  /// Takes one line with its line end; returns the final head when the line has completed it.
  mutating func take(_ line: UnsafeRawBufferPointer) throws(Problem) -> Head? {
    byteCount += line.count
    guard byteCount <= byteLimit else {
      throw Problem(message: "the fields are larger than \(byteLimit) bytes")
    }
    var content = line[...]
    if content.last == 0x0A { content = content.dropLast() }
    if content.last == 0x0D { content = content.dropLast() }
    // Fields after the body (RFC 9110 section 6.5) are counted, and otherwise left alone.
    if isComplete { return nil }
    if status == 0 {
      try takeStatusLine(content)
      return nil
    }
    if content.isEmpty { return try endHead() }
    if let first = content.first, first == 0x20 || first == 0x09 {
      try takeContinuation(content)
    } else {
      try takeField(content)
    }
    return nil
  }

  private mutating func takeStatusLine(_ line: Slice<UnsafeRawBufferPointer>) throws(Problem) {
    guard let parsed = StatusLine(line) else {
      throw Problem(message: "the status line is malformed")
    }
    (version, status, reason) = (parsed.version, parsed.status, parsed.reason)
  }

  private mutating func takeField(_ line: Slice<UnsafeRawBufferPointer>) throws(Problem) {
    fieldCount += 1
    guard fieldCount <= countLimit else { throw Problem(message: "there are more than \(countLimit) fields") }
    guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex,
      line[..<colon].allSatisfy(\.isTokenByte)
    else { throw Problem(message: "a field has no valid name") }
    let value = line[line.index(after: colon)...].trimmedOfBlanks
    try checkValue(value)
    note(name: line[..<colon], value: value)
    wire.append(contentsOf: line[..<colon])
    wire.append(0x3A)
    wire.append(0x20)
    wire.append(contentsOf: value)
    wire.append(0x0D)
    wire.append(0x0A)
  }

  /// A line folded in the obsolete way continues the value before it with a space (RFC 9112 section 5.2).
  private mutating func takeContinuation(_ line: Slice<UnsafeRawBufferPointer>) throws(Problem) {
    guard wire.count > 2 else { throw Problem(message: "the fields begin with a continuation line") }
    let value = line.trimmedOfBlanks
    try checkValue(value)
    wire.removeLast(2)
    wire.append(0x20)
    wire.append(contentsOf: value)
    wire.append(0x0D)
    wire.append(0x0A)
  }

  private func checkValue(_ value: Slice<UnsafeRawBufferPointer>) throws(Problem) {
    guard !value.contains(where: { $0 == 0x0D || $0 == 0 }) else {
      throw Problem(message: "a field's value has a carriage return or NUL in it")
    }
  }

  /// Notes the fields that say where the body ends.
  private mutating func note(name: Slice<UnsafeRawBufferPointer>, value: Slice<UnsafeRawBufferPointer>) {
    switch name.count {
    case 14 where name.equalsIgnoringCase("content-length"):
      lengths.append(contentsOf: Self.lengths(in: value))
    case 16 where name.equalsIgnoringCase("content-encoding"):
      if !value.isEmpty, !value.equalsIgnoringCase("identity") { isEncoded = true }
    case 17 where name.equalsIgnoringCase("transfer-encoding"): isChunked = true
    default: break
    }
  }

  /// The members of a `Content-Length` list; -1 for one that is not a number (RFC 9112 section 6.3).
  private static func lengths(in value: Slice<UnsafeRawBufferPointer>) -> [Int64] {
    String(decoding: value, as: UTF8.self).split(separator: ",", omittingEmptySubsequences: false).map {
      member in
      let digits = member.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
      guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return -1 }
      return Int64(digits) ?? -1
    }
  }

  private mutating func endHead() throws(Problem) -> Head? {
    guard status != 101 else { throw Problem(message: "101 (Switching Protocols) without having been asked") }
    let fields = HTTPFields(wire: wire)
    wire.removeAll(keepingCapacity: true)
    if status < 200 {
      interim.append(TransportResponse.Interim(status: status, fields: fields))
      resetForNextHead()
      return nil
    }
    if let first = lengths.first, !isChunked {
      guard first >= 0, lengths.allSatisfy({ $0 == first }) else {
        throw Problem(message: "Content-Length is not one number")
      }
    }
    isComplete = true
    return Head(
      version: version, status: status, reason: reason, fields: fields, interim: interim,
      contentLength: isChunked ? nil : lengths.first, isEncoded: isEncoded)
  }

  private mutating func resetForNextHead() {
    status = 0
    lengths = []
    isChunked = false
    isEncoded = false
  }
}

/// A status line (RFC 9112 section 4): `HTTP/1.1 200 OK`, or `HTTP/2 200 ` as libcurl writes it for HTTP/2.
private struct StatusLine {
  let version: String
  let status: Int
  let reason: String

  init?(_ line: Slice<UnsafeRawBufferPointer>) {
    guard line.count >= 10, line.prefix(5).elementsEqual("HTTP/".utf8) else { return nil }
    let rest = line.dropFirst(5)
    guard let space = rest.firstIndex(of: 0x20), let version = Self.version(rest[..<space]) else {
      return nil
    }
    let afterVersion = rest[rest.index(after: space)...]
    let digits = afterVersion.prefix(3)
    guard digits.count == 3, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    let status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    let tail = afterVersion.dropFirst(3)
    guard status >= 100, tail.isEmpty || tail.first == 0x20 else { return nil }
    guard !tail.contains(where: { $0 == 0 || $0 == 0x0D }) else { return nil }
    self.version = version
    self.status = status
    reason = tail.trimmedOfBlanks.text
  }

  private static func version(_ bytes: Slice<UnsafeRawBufferPointer>) -> String? {
    if bytes.elementsEqual("1.1".utf8) { return "1.1" }
    if bytes.elementsEqual("2".utf8) { return "2" }
    if bytes.elementsEqual("1.0".utf8) { return "1.0" }
    return bytes.elementsEqual("3".utf8) ? "3" : nil
  }
}

extension Slice<UnsafeRawBufferPointer> {
  /// Without the white space around it (RFC 9110 section 5.6.3).
  fileprivate var trimmedOfBlanks: Self {
    var slice = self
    while let byte = slice.first, byte == 0x20 || byte == 0x09 { slice = slice.dropFirst() }
    while let byte = slice.last, byte == 0x20 || byte == 0x09 { slice = slice.dropLast() }
    return slice
  }

  /// Whether the bytes are the given lower-case ASCII text in any case.
  fileprivate func equalsIgnoringCase(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    var expected = text.utf8Start
    for byte in self {
      let lowered = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
      guard lowered == expected.pointee else { return false }
      expected += 1
    }
    return true
  }

  /// As UTF-8 where it is valid, as ISO 8859-1 otherwise.
  fileprivate var text: String {
    if isEmpty { return "" }
    return String(validating: self, as: UTF8.self)
      ?? String(String.UnicodeScalarView(map { Unicode.Scalar($0) }))
  }
}
