import CacheStore
import DataService
import Testing
import TestTurns

@Suite("The caller's preconditions, RFC 9111 section 4.3.2", .inTurn) struct PreconditionTests {
  static let modified = Rule.date(-3000)

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let stored: HTTPFields
    let asked: HTTPFields
    let isNotModified: Bool

    init(_ name: String, _ stored: HTTPFields, _ asked: HTTPFields, _ isNotModified: Bool) {
      (testDescription, self.stored, self.asked, self.isNotModified) = (name, stored, asked, isNotModified)
    }
  }

  static let cases: [Case] = [
    Case("no precondition", ["ETag": "\"a\""], [:], false),
    Case("the stored tag", ["ETag": "\"a\""], ["If-None-Match": "\"a\""], true),
    Case("another tag", ["ETag": "\"a\""], ["If-None-Match": "\"b\""], false),
    Case("first of several", ["ETag": "\"a\""], ["If-None-Match": "\"a\", \"b\", \"c\""], true),
    Case("second of several", ["ETag": "\"a\""], ["If-None-Match": "\"b\", \"a\", \"c\""], true),
    Case("last of several", ["ETag": "\"a\""], ["If-None-Match": "\"b\", \"c\", \"a\""], true),
    Case("in a second line", ["ETag": "\"a\""], ["If-None-Match": "\"b\"", "if-none-match": "\"a\""], true),
    Case("none of several", ["ETag": "\"a\""], ["If-None-Match": "\"b\", \"c\""], false),
    Case("weak against weak", ["ETag": "W/\"a\""], ["If-None-Match": "W/\"a\""], true),
    Case("weak against strong", ["ETag": "\"a\""], ["If-None-Match": "W/\"a\""], true),
    Case("a comma in the tag", ["ETag": "\"a,b\""], ["If-None-Match": "\"a,b\""], true),
    Case("obs-text in the tag", ["ETag": "\"ü\""], ["If-None-Match": "\"ü\""], true),
    Case("asterisk", ["ETag": "\"a\""], ["If-None-Match": "*"], true),
    Case("asterisk without a stored tag", [:], ["If-None-Match": " * "], true),
    Case("no stored tag", [:], ["If-None-Match": "\"a\""], false),
    Case(
      "tag before date: equal", ["ETag": "\"a\"", "Last-Modified": Rule.date()],
      ["If-None-Match": "\"a\"", "If-Modified-Since": Rule.date(-1)], true),
    Case(
      "tag before date: other", ["ETag": "\"a\"", "Last-Modified": modified],
      ["If-None-Match": "\"b\"", "If-Modified-Since": Rule.date()], false),
    Case("the stored date", ["Last-Modified": modified], ["If-Modified-Since": modified], true),
    Case("a later date", ["Last-Modified": modified], ["If-Modified-Since": Rule.date(-2000)], true),
    Case("an earlier date", ["Last-Modified": modified], ["If-Modified-Since": Rule.date(-3001)], false),
    Case(
      "the stored date in another form", ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
      ["If-Modified-Since": "Sunday, 06-Nov-94 08:49:37 GMT"], true),
    Case("no date at all", ["Last-Modified": modified], ["If-Modified-Since": "x"], false),
    Case(
      "Date in place of Last-Modified: later", ["Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-59)], true),
    Case(
      "Date in place of Last-Modified: earlier", ["Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-61)], false),
    Case(
      "Last-Modified before Date: older", ["Last-Modified": Rule.date(-60), "Date": Rule.date()],
      ["If-Modified-Since": Rule.date(-30)], true),
    Case(
      "Last-Modified before Date: newer", ["Last-Modified": Rule.date(), "Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-30)], false),
    Case(
      "Date in place of an unreadable Last-Modified", ["Last-Modified": "x", "Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-60)], true),
    Case("a tag that is none", ["ETag": "a"], ["If-None-Match": "a"], false),
    Case(
      "no tag, though the date holds", [:], ["If-None-Match": "x", "If-Modified-Since": Rule.date()], false),
    Case("If-Match alone", ["ETag": "\"a\""], ["If-Match": "\"a\""], false),
    Case("receipt in place of both: equal", [:], ["If-Modified-Since": Rule.date()], true),
    Case("receipt in place of both: earlier", [:], ["If-Modified-Since": Rule.date(-1)], false),
  ]

  @Test("A precondition that holds is a 304", arguments: cases) func table(_ test: Case) {
    let row = Rule.row(test.stored)
    #expect(Precondition.isNotModified(requestFields: test.asked, stored: row) == test.isNotModified)
    let served = ServedResponse(row, method: .get, requestFields: test.asked, now: Rule.noon)
    #expect((served.status == 304) == test.isNotModified)
    #expect(served.body == (test.isNotModified ? 0..<0 : 0..<4))
  }

  @Test("Only a 200 is judged by preconditions") func onlyOK() {
    for status in [199, 201, 203, 206, 304, 404] {
      let row = Rule.row(status: status, ["ETag": "\"a\""])
      #expect(
        !Precondition.isNotModified(requestFields: ["If-None-Match": "\"a\""], stored: row), "\(status)")
    }
  }

  struct RangeCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let stored: HTTPFields
    let condition: String?
    let allowed: Bool

    init(_ name: String, _ stored: HTTPFields, _ condition: String?, _ allowed: Bool) {
      (testDescription, self.stored, self.condition, self.allowed) = (name, stored, condition, allowed)
    }
  }

  static let ranges: [RangeCase] = [
    RangeCase("no If-Range", [:], nil, true),
    RangeCase("the stored strong tag", ["ETag": "\"a\""], "\"a\"", true),
    RangeCase("another tag", ["ETag": "\"a\""], "\"b\"", false),
    RangeCase("a weak tag", ["ETag": "W/\"a\""], "W/\"a\"", false),
    RangeCase("no stored tag", [:], "\"a\"", false),
    RangeCase("the stored date, strong", ["Last-Modified": modified, "Date": Rule.date()], modified, true),
    RangeCase(
      "the stored date, made in the same second", ["Last-Modified": Rule.date(), "Date": Rule.date()],
      Rule.date(), false),
    RangeCase(
      "the stored date, made one second before", ["Last-Modified": Rule.date(-1), "Date": Rule.date()],
      Rule.date(-1), true),
    RangeCase(
      "the stored date, made a second after", ["Last-Modified": Rule.date(1), "Date": Rule.date()],
      Rule.date(1), false),
    RangeCase(
      "the stored date, received one second later", ["Last-Modified": Rule.date(-1)], Rule.date(-1), true),
    RangeCase("the stored date, received in its second", ["Last-Modified": Rule.date()], Rule.date(), false),
    RangeCase("a strong tag for a stored weak one", ["ETag": "W/\"a\""], "\"a\"", false),
    RangeCase("a weak tag for a stored strong one", ["ETag": "\"a\""], "W/\"a\"", false),
    RangeCase("a strong tag for a stored text that is none", ["ETag": "a"], "\"a\"", false),
    RangeCase("an unreadable stored date", ["Last-Modified": "x", "Date": Rule.date()], modified, false),
    RangeCase("an earlier date", ["Last-Modified": modified, "Date": Rule.date()], Rule.date(-3001), false),
    RangeCase("a later date", ["Last-Modified": modified, "Date": Rule.date()], Rule.date(-2000), false),
    RangeCase("no stored date", [:], modified, false),
    RangeCase("neither tag nor date", ["ETag": "\"a\""], "a", false),
  ]

  @Test("If-Range cuts only from the representation it names", arguments: ranges)
  func ifRange(_ test: RangeCase) {
    var asked: HTTPFields = ["Range": "bytes=0-1"]
    if let condition = test.condition { asked.append("If-Range", condition) }
    let row = Rule.row(test.stored)
    let served = ServedResponse(row, method: .get, requestFields: asked, now: Rule.noon)
    #expect((served.status == 206) == test.allowed)
    #expect(Precondition.allowsRange(requestFields: asked, stored: row) == test.allowed)
  }
}
