import DataService
import PlatformFoundation
import Testing
import TestTurns

@Suite("Changes that matter", .inTurn) struct ChangeRuleTests {
  func change(_ rule: ChangeRule, _ stored: String?, _ fresh: String) -> DataService.Change {
    rule.change(from: stored.map { Data($0.utf8) }, to: Data(fresh.utf8))
  }

  @Test(
    "Without a stored body everything is new",
    arguments: [.notModified, .bytes, .json(ignoring: [])] as [ChangeRule])
  func new(rule: ChangeRule) {
    #expect(change(rule, nil, "{}") == .new)
  }

  @Test("By 304 only, equal bytes count as changed") func notModified() {
    #expect(change(.notModified, "a", "a") == .changed)
  }

  @Test("By bytes, equal bytes are unchanged and nothing else is") func bytes() {
    #expect(change(.bytes, "a", "a") == .unchanged)
    #expect(change(.bytes, "", "") == .unchanged)
    #expect(change(.bytes, "{}", "{ }") == .changed)
  }

  @Test(
    "As JSON, white space, order of members and spelling do not count",
    arguments: [
      ("{}", "{ }"), ("{\"a\":1,\"b\":2}", "{\"b\":2, \"a\":1}"), ("[1]", "[1.0]"), ("[1e2]", "[100]"),
      ("\"\\u0061\"", "\"a\""), ("null", " null"), ("true", "true "), ("[1e300]", "[1.0e300]"),
    ])
  func equalJSON(stored: String, fresh: String) {
    #expect(change(.json(ignoring: []), stored, fresh) == .unchanged)
  }

  @Test(
    "As JSON, values and the order of elements count",
    arguments: [
      ("{\"a\":1}", "{\"a\":2}"), ("[1,2]", "[2,1]"), ("[1]", "[1,1]"), ("{\"a\":null}", "{}"),
      ("[0]", "[false]"),
      ("[1]", "[true]"), ("[1]", "[\"1\"]"), ("12345678901234567890123", "12345678901234567890124"),
      ("{}", "[]"), ("\"\u{E9}\"", "\"e\u{301}\""), ("{\"\u{E9}\":1}", "{\"e\u{301}\":1}"),
      ("not JSON", "not JSON "), ("{}", "not JSON"),
    ])
  func unequalJSON(stored: String, fresh: String) {
    #expect(change(.json(ignoring: []), stored, fresh) == .changed)
  }

  static let ignored: [([String], String, String, DataService.Change)] = [
    (["/meta/time"], "{\"meta\":{\"time\":1},\"v\":1}", "{\"meta\":{\"time\":2},\"v\":1}", .unchanged),
    (["/meta/time"], "{\"meta\":{\"time\":1},\"v\":1}", "{\"meta\":{\"time\":2},\"v\":2}", .changed),
    (["/meta"], "{\"meta\":1}", "{}", .unchanged),
    (["/meta/time"], "{\"meta\":{}}", "{\"meta\":{\"time\":2}}", .unchanged),
    (["/a", "/b"], "{\"a\":1,\"b\":1}", "{\"a\":2,\"b\":2}", .unchanged),
    (["/0"], "[1,2]", "[9,2]", .unchanged), (["/1"], "[1,2]", "[9,2]", .changed),
    (["/1"], "[1]", "[1,2]", .changed), (["/00"], "[1,2]", "[9,2]", .changed),
    (["/1"], "[1,2]", "[1,9]", .unchanged), (["/10"], "[0,1,2]", "[0,1,9]", .changed),
    (["/0/t"], "[{\"t\":1,\"v\":1}]", "[{\"t\":2,\"v\":2}]", .changed),
    (["/-"], "[1,2]", "[9,2]", .changed), (["/0/t"], "[{\"t\":1}]", "[{\"t\":2}]", .unchanged),
    (["/a~1b"], "{\"a/b\":1}", "{\"a/b\":2}", .unchanged),
    (["/a~0b"], "{\"a~b\":1}", "{\"a~b\":2}", .unchanged),
    (["/~01"], "{\"~1\":1}", "{\"~1\":2}", .unchanged), (["/"], "{\"\":1}", "{\"\":2}", .unchanged),
    ([""], "{\"a\":1}", "[2]", .unchanged), (["/99999999999999999999"], "[1]", "[2]", .changed),
    (["a"], "{\"a\":1}", "{\"a\":2}", .changed), (["/a~2"], "{\"a~2\":1}", "{\"a~2\":2}", .changed),
  ]

  @Test("Paths given as JSON Pointers do not count", arguments: ignored)
  func ignoring(pointers: [String], stored: String, fresh: String, expected: DataService.Change) {
    #expect(
      change(.json(ignoring: pointers), stored, fresh) == expected, "\(pointers), \(stored), \(fresh)")
  }

  @Test("A document nested too deep is compared by its bytes") func deep() {
    let deep = String(repeating: "[", count: 100_000)
    #expect(change(.json(ignoring: []), deep, deep + " ") == .changed)
    #expect(change(.json(ignoring: []), deep, deep) == .unchanged)
  }
}
