import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Fields of a validation, RFC 9111 section 4.3.1", .inTurn) struct HTTPExchangeFieldsTests {
  static let caller: HTTPFields = [
    "X": "1", "If-None-Match": "\"c\"", "If-Modified-Since": "then", "Range": "bytes=0-1",
    "If-Range": "\"a\"",
    "If-Match": "*",
  ]
  static let cases: [(name: String, conditions: HTTPFields, isForStore: Bool, fields: HTTPFields)] = [
    ("nothing validated, for the caller", [:], false, caller),
    (
      "validated, for the caller", ["If-None-Match": "\"s\""], false,
      ["X": "1", "Range": "bytes=0-1", "If-Range": "\"a\"", "If-Match": "*", "If-None-Match": "\"s\""]
    ),
    ("nothing validated, for the store", [:], true, ["X": "1", "If-Match": "*"]),
    (
      "validated, for the store", ["If-Modified-Since": "stored"], true,
      ["X": "1", "If-Match": "*", "If-Modified-Since": "stored"]
    ),
  ]

  @Test("The row's validators take the place of the caller's conditions") func table() {
    for (name, conditions, isForStore, fields) in Self.cases {
      let result = HTTPExchangeFields.fields(
        caller: Self.caller, conditions: conditions, isForStore: isForStore)
      #expect(result == fields, Comment(rawValue: name))
    }
  }
}
