import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Accepted media types", .inTurn) struct MediaTypesTests {
  @Test(
    "A type is accepted that the list names, by itself or by a pattern; an empty list accepts all",
    arguments: [
      ("application/json", ["application/json"], true), ("application/json", [], true), (nil, [], true),
      ("Application/JSON ; charset=utf-8", ["application/json"], true),
      ("Application/JSON\t; charset=utf-8", ["application/json"], true),
      ("text/html", ["\ttext/html"], true), ("text /\t html", ["text/html"], true),
      ("application/json", ["APPLICATION/Json"], true), ("text/html", ["application/json"], false),
      ("text/html", ["application/json", "text/html"], true), ("text/html", ["text/*"], true),
      ("text/html", ["*/*"], true), ("textual/html", ["text/*"], false), (nil, ["*/*"], false),
      ("application/problem+json", ["application/*+json"], true),
      ("application/json", ["application/*+json"], false),
      ("application/problem+json", ["application/json"], false),
      ("json", ["application/json"], false), ("", ["*/*"], false), ("text/html/x", ["text/*"], false),
      ("text/html; x=application/json", ["application/json"], false),
    ] as [(String?, [String], Bool)])
  func accepts(type: String?, accepted: [String], expected: Bool) {
    var fields = HTTPFields()
    if let type { fields.append("Content-Type", type) }
    #expect(MediaTypes.accepts(fields, accepted: accepted) == expected)
  }

  @Test func `what is no media type is told apart`() {
    for text in ["application/json", "text/*", "*/*", "application/*+json"] {
      #expect(MediaTypes.isValid(text), "\(text)")
    }
    for text in ["json", "", "a/b/c", "a b/c", "/x", "x/", "text/html;q=1"] {
      #expect(!MediaTypes.isValid(text), "\(text)")
    }
  }
}
