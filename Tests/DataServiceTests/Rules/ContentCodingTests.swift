import CacheStore
import Testing
import TestTurns

@testable import DataService

@Suite("Content codings, RFC 9110 section 8.4", .inTurn) struct ContentCodingTests {
  @Test(
    "A coding is one that is registered; a list with another word in it is none",
    arguments: [
      (["gzip"], true), (["GZIP"], true), (["x-gzip"], true), (["br"], true), (["zstd, gzip"], true),
      (["compress"], true), (["gzip", "identity"], true), (["none, deflate"], true), (["gzip,"], true),
      ([], false), ([""], false), (["Identity"], false), (["none"], false), (["utf-8"], false),
      (["aws-chunked"], false), (["gzip, aws-chunked"], false), (["gzip", "aws-chunked"], false),
      (["gzip;q=1"], false), (["x-deflate"], false), (["binary"], false),
    ] as [([String], Bool)])
  func named(values: [String], isNamed: Bool) {
    var fields: HTTPFields = ["Content-Length": "5"]
    for value in values { fields.append("Content-Encoding", value) }
    #expect(ContentCoding.isNamed(in: fields) == isNamed)
    for isDecoded in [false, true] {
      var row = Rule.row(fields)
      row.head.isDecoded = isDecoded
      #expect(ContentCoding.isCoded(row.head) == (isNamed && !isDecoded))
    }
  }
}
