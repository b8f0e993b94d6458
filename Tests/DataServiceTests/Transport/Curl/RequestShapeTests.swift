import CacheStore
import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

@Suite("What method and body mean on the wire", .inTurn) struct RequestShapeTests {
  private func request(
    _ method: RequestMethod = .get, _ fields: HTTPFields = [:], body: String? = nil
  ) throws -> TransportRequest {
    TransportRequest(
      url: try #require(URL(string: "http://a.test/")), method: method, fields: fields,
      body: body.map { Data($0.utf8) })
  }

  static let shapes:
    [(method: RequestMethod, body: String?, shape: RequestShape, hasBody: Bool, custom: String?)] = [
      (.get, nil, .get, false, nil), (.get, "abc", .body("GET", 3), true, "GET"),
      (.head, nil, .head, false, nil),
      (.post, nil, .body("POST", 0), true, "POST"), (.post, "", .body("POST", 0), true, "POST"),
      (.post, "abc", .body("POST", 3), true, "POST"), (.put, nil, .body("PUT", 0), true, "PUT"),
      (.patch, nil, .body("PATCH", 0), true, "PATCH"), (.delete, nil, .bare("DELETE"), false, "DELETE"),
      (.delete, "", .body("DELETE", 0), true, "DELETE"), (.options, nil, .bare("OPTIONS"), false, "OPTIONS"),
      ("get", nil, .bare("get"), false, "get"), ("post", nil, .bare("post"), false, "post"),
      ("head", nil, .bare("head"), false, "head"),
    ]

  @Test("A request without content states a length of 0 where its method defines one, RFC 9110 section 8.6")
  func shape() throws {
    for (method, body, shape, hasBody, custom) in Self.shapes {
      let result = RequestShape(try request(method, body: body))
      let comment = Comment(rawValue: "\(method.rawValue), \(body ?? "no body")")
      #expect(result == shape, comment)
      #expect(result.hasBody == hasBody, comment)
      #expect(result.customMethod == custom, comment)
    }
  }

  static let lines: [(name: String, wire: String, hasBody: Bool, lines: [String])] = [
    ("none", "", false, []), ("none, with a body", "", true, ["Expect:", "Content-Type:"]),
    ("as they are", "A: 1\r\nb:  2 \r\n", false, ["A: 1", "b:  2 "]),
    ("a line feed alone", "A: 1\nB: 2", false, ["A: 1", "B: 2"]),
    ("empty values", "A: \r\nB:\r\nC: \t \r\nD: -\r\n", false, ["A;", "B;", "C;", "D: -"]),
    ("no field", "junk\r\nA: 1\r\n", false, ["A: 1"]),
    (
      "the length", "Content-Length: 5\r\nCONTENT-length: 5\r\nContent-Lengths: 1\r\n", false,
      ["Content-Lengths: 1"]
    ),
    ("an expectation", "Expect: 100-continue\r\nexpect: x\r\n", true, ["Expect:", "Content-Type:"]),
    ("an expectation without a body", "Expect: 100-continue\r\nExpects: 1\r\n", false, ["Expects: 1"]),
    ("chunks", "transfer-ENCODING: chunked\r\nTE: trailers\r\n", false, ["TE: trailers"]),
    ("chunks with a body", "Transfer-Encoding: chunked\r\n", true, ["Expect:", "Content-Type:"]),
    ("Content-Type is the caller's", "content-type: a/b\r\n", true, ["content-type: a/b", "Expect:"]),
    ("neither without a body", "A: 1\r\n", false, ["A: 1"]),
  ]

  @Test("libcurl's lines have no framing, and disable what it would add") func libcurlLines() {
    for (name, wire, hasBody, lines) in Self.lines {
      let result = HTTPFields(wire: Array(wire.utf8)).libcurlLines(hasBody: hasBody)
      #expect(result.map { String(decoding: $0, as: UTF8.self) } == lines, Comment(rawValue: name))
    }
  }

  static let faults:
    [(name: String, method: RequestMethod, fields: HTTPFields, body: String?, says: String?)] = [
      ("GET", .get, [:], nil, nil), ("GET with a body", .get, [:], "b", nil),
      ("a refused field", .get, ["X Y": "1"], nil, "X Y"),
      ("no method", "", [:], nil, "token"), ("a method of two words", "A B", [:], nil, "token"),
      ("HEAD", .head, [:], nil, nil), ("HEAD with a body", .head, [:], "", "HEAD"),
      ("CONNECT", "CONNECT", [:], nil, "CONNECT"),
      ("connect", "connect", [:], nil, nil), ("the length", .post, ["Content-Length": "3"], "abc", nil),
      ("the length twice", .post, ["Content-Length": "3", "content-length": "3"], "abc", nil),
      ("less", .post, ["Content-Length": "2"], "abc", "Content-Length"),
      ("more", .post, ["Content-Length": "4"], "abc", "Content-Length"),
      ("one of two", .post, ["Content-Length": "3", "content-length": "4"], "abc", "Content-Length"),
      ("no number", .post, ["Content-Length": "x"], "abc", "Content-Length"),
      ("0 without a body", .get, ["Content-Length": "0"], nil, nil),
      ("1 without a body", .get, ["Content-Length": "1"], nil, "Content-Length"),
      ("chunks", .post, ["Transfer-Encoding": "Chunked"], "abc", nil),
      ("chunks without a body", .get, ["Transfer-Encoding": "chunked"], nil, nil),
      ("no coding", .post, ["Transfer-Encoding": "", "transfer-encoding": "identity"], "abc", nil),
      ("a coding", .post, ["Transfer-Encoding": "gzip, chunked"], "abc", "Transfer-Encoding"),
      (
        "one of two codings", .post, ["Transfer-Encoding": "chunked", "transfer-encoding": "gzip"], "abc",
        "Transfer-Encoding"
      ),
    ]

  @Test("What cannot be sent is named") func fault() throws {
    for (name, method, fields, body, says) in Self.faults {
      let fault = try request(method, fields, body: body).fault
      #expect((fault == nil) == (says == nil), Comment(rawValue: name))
      if let fault, let says {
        #expect(fault.kind == .invalidRequest && fault.message.contains(says), Comment(rawValue: name))
      }
    }
  }

  @Test("A request may be repeated where its method is safe, RFC 9110 section 9.2.1") func repeatable() throws
  {
    for (method, isSafe) in [
      (.get, true), (.head, true), (.options, true), ("TRACE", true), (.post, false), (.put, false),
      (.patch, false),
      (.delete, false), ("get", false), ("CONNECT", false),
    ] as [(RequestMethod, Bool)] {
      #expect(method.isSafe == isSafe, "\(method.rawValue)")
      #expect(try request(method).isRepeatable == isSafe, "\(method.rawValue)")
    }
  }
}
