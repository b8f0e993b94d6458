import CacheStore

/// Parses the lines of a response's heads: interim 1xx responses, then the final one (RFC 9112 sections 4 and 5).
///
/// Stricter than libcurl, which passes on lines that it does not understand: a malformed head fails the exchange, so
/// that it can replace no stored response (law 5). A field whose name is no token is dropped; but one that may have been
/// meant to say where the body ends fails the exchange too. The limits apply to all heads together, which ends a flood
/// of 1xx responses.
struct HeadParser {
  /// A final head, and its description of the body.
  struct Head: Sendable {
    var version: String
    var status: Int
    var reason: String
    var fields: HTTPFields
    var interim: [TransportResponse.Interim]
    /// The value of `Content-Length`; `nil` where there is none or chunks override it.
    var contentLength: Int64?
    /// Whether libcurl reads to the end of the connection all the same, because of a `Transfer-Encoding` without chunks.
    var isLengthIgnored: Bool
    /// Whether the body has a content coding, so that its decoded length differs.
    var isEncoded: Bool
    /// Whether `Content-Encoding` names no registered coding, so that the body is passed on as it came.
    var isPassedThrough: Bool
    /// Whether nothing but the end of the connection delimits a body (RFC 9112 section 6.3).
    var endsWithConnection: Bool
  }

  /// The defect of a head, as text for people.
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
  private var hasTransferCoding = false
  private var hasContentCoding = false
  /// What a folded line continues.
  private var last = Last.nothing
  private var isComplete = false

  private enum Last { case nothing, field, dropped, framing }

  /// - Parameters:
  ///   - byteLimit: The most bytes in all heads.
  ///   - countLimit: The most fields in all heads.
  init(byteLimit: Int, countLimit: Int) {
    self.byteLimit = byteLimit
    self.countLimit = countLimit
  }

  /// Parses one line with its line end; returns the final head if this line completes it.
  mutating func take(_ line: UnsafeRawBufferPointer) throws(Problem) -> Head? {
    byteCount += line.count
    guard byteCount <= byteLimit else {
      throw Problem(message: "the headers are larger than \(byteLimit) bytes")
    }
    // Trailer fields (RFC 9110 section 6.5) are counted but otherwise ignored. From version 8 on, libcurl also passes
    // on the fragment of a line that a broken connection leaves. It is ignored, since it may be the CR of the empty
    // line.
    if line.last != 0x0A { return nil }
    guard !isComplete else {
      // No trailer begins like this. The exchange has begun anew, and its body would come under the first head.
      guard !line.starts(with: "HTTP/".utf8) else {
        throw Problem(message: "another response follows the first")
      }
      return nil
    }
    let content = line.withoutLineEnd
    if status == 0 {
      try takeStatusLine(content)
    } else if content.isEmpty {
      return try endHead()
    } else if content[0].isBlank {
      try takeContinuation(content)
    } else {
      try takeField(content)
    }
    return nil
  }

  private mutating func takeStatusLine(_ line: UnsafeRawBufferPointer) throws(Problem) {
    guard let parsed = StatusLine(line) else {
      throw Problem(message: "the status line is malformed")
    }
    (version, status, reason) = (parsed.version, parsed.status, parsed.reason)
  }

  private mutating func takeField(_ line: UnsafeRawBufferPointer) throws(Problem) {
    fieldCount += 1
    guard fieldCount <= countLimit else {
      throw Problem(message: "there are more than \(countLimit) headers")
    }
    var colon = 0
    while colon < line.count, line[colon].isTokenByte { colon += 1 }
    let isToken = colon > 0 && colon < line.count && line[colon] == 0x3A
    guard isToken || line.contains(0x3A) else { throw Problem(message: "a header has no name") }
    while line[colon] != 0x3A { colon += 1 }
    let name = line.part(0, colon)
    let value = line.part(colon + 1, line.count).trimmedOfBlanks
    try checkValue(value)
    guard isToken else {
      guard !name.trimmedOfBlanks.isFraming else {
        throw Problem(message: "a header that says where the body ends has no valid name")
      }
      last = .dropped
      return
    }
    last = name.isFraming ? .framing : .field
    if last == .framing { try note(name: name, value: value) }
    wire.append(contentsOf: name)
    wire.append(0x3A)
    wire.append(0x20)
    endLine(with: value)
  }

  /// An obsolete folded line continues the previous value with a space (RFC 9112 section 5.2). libcurl looks at a field's
  /// first line alone, and would end the body elsewhere, or decode it otherwise, than the whole field says.
  private mutating func takeContinuation(_ line: UnsafeRawBufferPointer) throws(Problem) {
    let value = line.trimmedOfBlanks
    try checkValue(value)
    switch last {
    case .nothing: throw Problem(message: "the headers begin with a continuation line")
    case .framing: throw Problem(message: "a header that says where the body ends is folded")
    case .dropped: return
    case .field: break
    }
    wire.removeLast(2)
    wire.append(0x20)
    endLine(with: value)
  }

  private mutating func endLine(with value: UnsafeRawBufferPointer) {
    wire.append(contentsOf: value)
    wire.append(0x0D)
    wire.append(0x0A)
  }

  private func checkValue(_ value: UnsafeRawBufferPointer) throws(Problem) {
    for byte in value where byte == 0x0D || byte == 0 {
      throw Problem(message: "a header's value has a carriage return or NUL in it")
    }
  }

  /// Records a field that determines the end of the body, or its coding.
  private mutating func note(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) throws(Problem) {
    switch name.count {
    case 14: lengths.append(contentsOf: Self.lengths(in: value))
    case 16: hasContentCoding = true
    default:
      hasTransferCoding = true
      try takeTransferCodings(value)
    }
  }

  /// Nothing but chunks was asked for (RFC 9112 section 7.4). Some versions of libcurl refuse another coding, some
  /// decode it, some take such a body for an empty one. Without chunks the length counts (RFC 2616 section 4.4).
  private mutating func takeTransferCodings(_ value: UnsafeRawBufferPointer) throws(Problem) {
    for coding in value.split(separator: 0x2C) {
      let coding = UnsafeRawBufferPointer(rebasing: coding).trimmedOfBlanks
      if coding.equalsIgnoringCase("chunked") {
        isChunked = true
      } else if !coding.equalsIgnoringCase("identity") {
        throw Problem(message: "the body has a transfer coding that was not asked for")
      }
    }
  }

  /// The members of a `Content-Length` list; -1 for one that is not a number (RFC 9112 section 6.3).
  private static func lengths(in value: UnsafeRawBufferPointer) -> [Int64] {
    var lengths: [Int64] = []
    var start = 0
    for end in 0...value.count where end == value.count || value[end] == 0x2C {
      lengths.append(length(of: value.part(start, end).trimmedOfBlanks))
      start = end + 1
    }
    return lengths
  }

  private static func length(of digits: UnsafeRawBufferPointer) -> Int64 {
    guard !digits.isEmpty else { return -1 }
    var length: Int64 = 0
    for byte in digits {
      guard byte >= 0x30, byte <= 0x39 else { return -1 }
      let (product, overflow) = length.multipliedReportingOverflow(by: 10)
      let (sum, sumOverflow) = product.addingReportingOverflow(Int64(byte - 0x30))
      guard !overflow, !sumOverflow else { return -1 }
      length = sum
    }
    return length
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
    let isEncoded = hasContentCoding && ContentCoding.isNamed(in: fields)
    return Head(
      version: version, status: status, reason: reason, fields: fields, interim: interim,
      contentLength: isChunked ? nil : lengths.first, isLengthIgnored: hasTransferCoding && !isChunked,
      isEncoded: isEncoded, isPassedThrough: hasContentCoding && !isEncoded,
      endsWithConnection: version.hasPrefix("1.") && !isChunked && lengths.isEmpty)
  }

  private mutating func resetForNextHead() {
    status = 0
    lengths = []
    isChunked = false
    hasTransferCoding = false
    hasContentCoding = false
    last = .nothing
  }
}

/// A status line (RFC 9112 section 4): `HTTP/1.1 200 OK`, or `HTTP/2 200 ` as libcurl writes it for HTTP/2.
private struct StatusLine {
  let version: String
  let status: Int
  let reason: String

  init?(_ line: UnsafeRawBufferPointer) {
    guard line.count >= 10, line.part(0, 5).elementsEqual("HTTP/".utf8) else { return nil }
    var space = 5
    while space < line.count, line[space] != 0x20 { space += 1 }
    guard let version = Self.version(line.part(5, space)), space + 4 <= line.count else { return nil }
    var status = 0
    for index in space + 1...space + 3 {
      guard line[index] >= 0x30, line[index] <= 0x39 else { return nil }
      status = status * 10 + Int(line[index] - 0x30)
    }
    let tail = line.part(space + 4, line.count)
    guard status >= 100, tail.isEmpty || tail[0] == 0x20, !tail.contains(where: { $0 == 0 || $0 == 0x0D })
    else {
      return nil
    }
    self.version = version
    self.status = status
    reason = tail.trimmedOfBlanks.text
  }

  private static func version(_ bytes: UnsafeRawBufferPointer) -> String? {
    if bytes.elementsEqual("1.1".utf8) { return "1.1" }
    if bytes.elementsEqual("2".utf8) { return "2" }
    if bytes.elementsEqual("1.0".utf8) { return "1.0" }
    return bytes.elementsEqual("3".utf8) ? "3" : nil
  }
}

extension UInt8 {
  fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension UnsafeRawBufferPointer {
  /// The bytes from one index up to another.
  fileprivate func part(_ start: Int, _ end: Int) -> Self { Self(rebasing: self[start..<end]) }

  fileprivate var withoutLineEnd: Self {
    var end = count
    if end > 0, self[end - 1] == 0x0A { end -= 1 }
    if end > 0, self[end - 1] == 0x0D { end -= 1 }
    return part(0, end)
  }

  /// Without the white space around it (RFC 9110 section 5.6.3).
  fileprivate var trimmedOfBlanks: Self {
    var start = 0
    var end = count
    while start < end, self[start].isBlank { start += 1 }
    while end > start, self[end - 1].isBlank { end -= 1 }
    return part(start, end)
  }

  /// Whether the bytes are the name of a field that says where the body ends, or how it is coded.
  fileprivate var isFraming: Bool {
    switch count {
    case 14: equalsIgnoringCase("content-length")
    case 16: equalsIgnoringCase("content-encoding")
    case 17: equalsIgnoringCase("transfer-encoding")
    default: false
    }
  }

  /// Whether the bytes are the given lower-case ASCII text in any case.
  fileprivate func equalsIgnoringCase(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    for index in 0..<count {
      let byte = self[index]
      let lowered = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
      guard lowered == text.utf8Start[index] else { return false }
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
