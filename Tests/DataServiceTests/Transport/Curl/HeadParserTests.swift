import CacheStore
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("Heads of responses", .inTurn) struct HeadParserTests {
  private func parse(
    _ text: String, byteLimit: Int = 1_000, countLimit: Int = 10
  ) throws(HeadParser.Problem) -> HeadParser.Head? {
    try parse(Array(text.utf8), byteLimit: byteLimit, countLimit: countLimit)
  }

  /// Feeds the lines as libcurl does: each with its line end.
  private func parse(
    _ bytes: [UInt8], byteLimit: Int = 1_000, countLimit: Int = 10
  ) throws(HeadParser.Problem) -> HeadParser.Head? {
    var parser = HeadParser(byteLimit: byteLimit, countLimit: countLimit)
    var head: HeadParser.Head?
    var rest = bytes[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(of: 10).map { $0 + 1 } ?? rest.endIndex
      let line = Array(rest[..<end])
      let result = line.withUnsafeBytes { buffer in
        Result { () throws(HeadParser.Problem) in try parser.take(buffer) }
      }
      head = try result.get() ?? head
      rest = rest[end...]
    }
    return head
  }

  @Test func `status line and fields are kept as received`() throws {
    let head = try #require(try parse("HTTP/1.1 404 Not  Here\r\nX-b:1\r\nx-A: 2 \r\nX-b: 3\r\n\r\n"))
    #expect(head.version == "1.1" && head.status == 404 && head.reason == "Not  Here")
    #expect(head.fields.wire == Array("X-b: 1\r\nx-A: 2\r\nX-b: 3\r\n".utf8))
    #expect(head.contentLength == nil && !head.isEncoded)
  }

  @Test("the version of a head is the one its status line names", arguments: ["1.0", "1.1", "2", "3"])
  func versions(version: String) throws {
    #expect(try parse("HTTP/\(version) 200 \r\n\r\n")?.version == version)
  }

  @Test func `a reason may be missing, and so may its space`() throws {
    #expect(try parse("HTTP/1.1 200\r\n\r\n")?.reason == "")
    #expect(try parse("HTTP/1.1 200 \r\n\r\n")?.reason == "")
    // The shortest there is.
    #expect(try parse("HTTP/2 200\r\n\r\n")?.status == 200)
    #expect(try parse("HTTP/2 999\r\n\r\n")?.status == 999)
  }

  @Test func `bytes beyond ASCII are kept as they are`() throws {
    let bytes = Array("HTTP/1.1 200 OK\r\nETag: \"".utf8) + [0xE9, 0xFF] + Array("\"\r\n\r\n".utf8)
    let head = try #require(try parse(bytes))
    #expect(head.fields.wire == Array("ETag: \"".utf8) + [0xE9, 0xFF] + Array("\"\r\n".utf8))
  }

  @Test func `a folded line continues the value before it`() throws {
    let head = try #require(try parse("HTTP/1.1 200 OK\r\nX-A: b\r\n \t c\r\nX-D: e\r\n\r\n"))
    #expect(head.fields["X-A"] == "b c")
    #expect(head.fields["X-D"] == "e")
  }

  @Test func `lines may end in a line feed alone`() throws {
    #expect(try parse("HTTP/1.1 200 OK\nX-A: b\n\n")?.fields["x-a"] == "b")
  }

  @Test func `heads of 1xx come before the final one`() throws {
    let head = try #require(
      try parse(
        "HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\nX-A: b\r\n\r\n"))
    #expect(head.interim.map(\.status) == [103, 100])
    #expect(head.interim.first?.fields["Link"] == "</a>")
    #expect(head.status == 200 && head.fields.all.count == 1)
  }

  @Test func `lengths of a 1xx do not count for the final response`() throws {
    let head = try parse(
      "HTTP/1.1 103 Early\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    #expect(head?.contentLength == 5)
  }

  @Test func `trailers are not fields`() throws {
    let head = try parse("HTTP/1.1 200 OK\r\nX-A: b\r\n\r\nX-Trailer: c\r\n")
    #expect(head?.fields.all.count == 1)
  }

  @Test func `another status line after the final head is no trailer`() throws {
    let head = "HTTP/1.1 417 Expectation Failed\r\nX-A: b\r\n\r\n"
    for next in ["HTTP/1.1 200 OK\r\n", "HTTP/2 200 \r\n", "HTTP/1.1 100 Continue\r\n", "HTTP/\n"] {
      #expect(throws: HeadParser.Problem.self, "\(next)") { try parse(head + next) }
    }
    #expect(try parse(head + "HTTP-Sum: c\r\nHTTP/1.1 200 OK")?.status == 417)
  }

  @Test(
    "Content-Length counts unless there is a transfer coding, and a content coding is known",
    arguments: [
      ("Content-Length: 5", Int64?(5), false), ("content-LENGTH: 0", 0, false),
      ("Content-Length: 5, 5", 5, false),
      ("Content-Length: 5\r\nContent-Length: 5", 5, false),
      ("Content-Length: 5\r\nTransfer-Encoding: chunked", nil, false),
      ("Content-Length: 5\r\nContent-Encoding: gzip", 5, true), ("Content-Encoding: identity", nil, false),
      ("Content-Encoding:", nil, false), ("Content-Length: 9223372036854775807", .max, false),
    ] as [(String, Int64?, Bool)]) func framing(fields: String, length: Int64?, isEncoded: Bool) throws
  {
    let head = try parse("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n")
    #expect(head?.contentLength == length)
    #expect(head?.isEncoded == isEncoded)
  }

  @Test(
    "A malformed head is refused",
    arguments: [
      "HTTP/1.1\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 200OK\r\n", "HTTP/1.1  200 OK\r\n",
      "HTTP/1.1 +20 OK\r\n", "HTTP/1.1 099 OK\r\n", "HTTP/1.2 200 OK\r\n", "http/1.1 200 OK\r\n",
      "HTTP/1.1 200 O\rK\r\n", "HTTP/1.1 200 O\0K\r\n", "HTTP/1.12000\r\n", "HTTP/1.1 20\u{3A}\r\n",
      "\r\n", "HTTP/1.1 200 OK\r\nX\r\n", "HTTP/1.1 200 OK\r\n: b\r\n", "HTTP/1.1 200 OK\r\nX : b\r\n",
      "HTTP/1.1 200 OK\r\nX\u{E9}: b\r\n", "HTTP/1.1 200 OK\r\nX: b\rc\r\n", "HTTP/1.1 200 OK\r\nX: b\0c\r\n",
      "HTTP/1.1 200 OK\r\n folded\r\n", "HTTP/1.1 200 OK\r\nX: a\r\n b\0\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n",
    ]) func malformed(text: String)
  {
    #expect(throws: HeadParser.Problem.self) { try parse(text) }
  }

  @Test(
    "A line that is cut off ends no head",
    arguments: ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nX: a", "HTTP/1.1 200 OK\r\nX: a\r\n\r"])
  func cutOff(text: String) throws {
    #expect(try parse(text) == nil)
    #expect(try parse("HTTP/1.1 200 OK\r\nX: a\r\n\r\n") != nil)
  }

  @Test(
    "A transfer coding other than chunks is refused", arguments: ["gzip", "gzip, chunked", "chunked,zz", "x"])
  func unasked(codings: String) throws {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
    #expect(throws: HeadParser.Problem.self) { try parse("\(head)\(codings)\r\n\r\n") }
    for known in ["chunked", "Chunked", "identity", ""] {
      #expect(try parse("\(head)\(known)\r\n\r\n") != nil, "\(known)")
    }
  }

  @Test func `the limits count all heads together, and trailers`() throws {
    let interim = "HTTP/1.1 103 Early\r\nA: b\r\n\r\n"
    let final = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    let size = interim.utf8.count + final.utf8.count
    #expect(try parse(interim + final, byteLimit: size, countLimit: 2) != nil)
    #expect(throws: HeadParser.Problem.self) { try parse(interim + final, byteLimit: size - 1) }
    #expect(throws: HeadParser.Problem.self) { try parse(interim + final, countLimit: 1) }
    #expect(throws: HeadParser.Problem.self) { try parse(interim + final + "T: x\r\n", byteLimit: size) }
  }

  @Test func `no bytes whatever make it fail otherwise than by its own error`() {
    var random = SeededGenerator(for: "heads")
    let alphabet = Array("HTTP/1.1 200 :\r\n\t ,0-\0x".utf8) + [0x80, 0xFF]
    var heads = 0
    for _ in 0..<3_000 {
      // Nothing, a status line, or a whole head but for what stands in the value of a field.
      let (start, end) =
        [("", ""), ("HTTP/1.1 200 OK\r\n", ""), ("HTTP/1.1 200 OK\r\nX: ", "\r\n\r\n")]
        .randomElement(using: &random) ?? ("", "")
      let middle = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
        alphabet.randomElement(using: &random) ?? 0
      }
      let bytes = Array(start.utf8) + middle.prefix(end.isEmpty ? 60 : 8) + Array(end.utf8)
      do throws(HeadParser.Problem) {
        guard let head = try parse(bytes) else { continue }
        heads += 1
        let isClean = head.fields.all.allSatisfy {
          !$0.name.isEmpty && $0.value.utf8.allSatisfy { $0 != 0 && $0 != 13 }
        }
        #expect(isClean, "\(bytes), seed \(random.seed)")
      } catch {}
    }
    #expect(heads > 100, "\(heads) heads, seed \(random.seed)")
  }
}
