import CacheStore
import Testing
import TestTurns

@testable import DataService

@Suite("Content codings, RFC 9110 section 8.4", .inTurn) struct ContentCodingTests {
  static let cases: [(name: String, fields: HTTPFields, isCoded: Bool)] = [
    ("a coding, its length", ["Content-Encoding": "gzip", "Content-Length": "5"], true),
    ("a coding, another length", ["Content-Encoding": "gzip", "Content-Length": "6"], false),
    ("a coding, no length", ["Content-Encoding": "gzip"], false),
    ("a coding, a length that is none", ["Content-Encoding": "gzip", "Content-Length": "five"], false),
    ("no coding", ["Content-Length": "5"], false),
    ("identity", ["Content-Encoding": "Identity", "Content-Length": "5"], false),
    ("an empty coding", ["Content-Encoding": "", "Content-Length": "5"], false),
  ]

  @Test("A body is coded as it came where a coding is named and its length is that of the fields")
  func coded() {
    for (name, fields, isCoded) in Self.cases {
      #expect(ContentCoding.isCoded(fields, length: 5) == isCoded, Comment(rawValue: name))
      var row = Rule.row(fields)
      row.body.length = 5
      #expect(ContentCoding.isCoded(row) == isCoded, Comment(rawValue: name))
      // What names no coding was neither coded nor decoded.
      let isDecoded = !isCoded && name.hasPrefix("a coding")
      #expect(ContentCoding.isDecoded(row) == isDecoded, Comment(rawValue: name))
    }
  }

  @Test("What is stored undecoded has a length, by which that is seen later") func undecoded() {
    let fields: HTTPFields = ["Content-Encoding": "br", "X": "1"]
    let stored = ContentCoding.undecoded(fields, length: 7)
    #expect(stored == ["Content-Encoding": "br", "X": "1", "Content-Length": "7"])
    #expect(ContentCoding.isCoded(stored, length: 7))
    for other in [
      [:], ["Content-Encoding": "identity"], ["Content-Encoding": ""],
      ["Content-Encoding": "br", "Content-Length": "9"],
    ] as [HTTPFields] {
      #expect(ContentCoding.undecoded(other, length: 7) == other, "\(other.all)")
    }
  }
}
