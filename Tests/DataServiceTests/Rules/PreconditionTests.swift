import CacheStore
import DataService
import Testing
import TestTurns

@Suite("The caller's preconditions, RFC 9111 section 4.3.2", .inTurn) struct PreconditionTests {
  static let modified = Rule.date(-3000)
  static let cases: [(name: String, stored: HTTPFields, asked: HTTPFields, isNotModified: Bool)] = [
    ("no precondition", ["ETag": "\"a\""], [:], false),
    ("the stored tag", ["ETag": "\"a\""], ["If-None-Match": "\"a\""], true),
    ("another tag", ["ETag": "\"a\""], ["If-None-Match": "\"b\""], false),
    ("first of several", ["ETag": "\"a\""], ["If-None-Match": "\"a\", \"b\", \"c\""], true),
    ("second of several", ["ETag": "\"a\""], ["If-None-Match": "\"b\", \"a\", \"c\""], true),
    ("last of several", ["ETag": "\"a\""], ["If-None-Match": "\"b\", \"c\", \"a\""], true),
    ("in a second line", ["ETag": "\"a\""], ["If-None-Match": "\"b\"", "if-none-match": "\"a\""], true),
    ("none of several", ["ETag": "\"a\""], ["If-None-Match": "\"b\", \"c\""], false),
    ("weak against weak", ["ETag": "W/\"a\""], ["If-None-Match": "W/\"a\""], true),
    ("weak against strong", ["ETag": "\"a\""], ["If-None-Match": "W/\"a\""], true),
    ("a comma in the tag", ["ETag": "\"a,b\""], ["If-None-Match": "\"a,b\""], true),
    ("obs-text in the tag", ["ETag": "\"ü\""], ["If-None-Match": "\"ü\""], true),
    ("asterisk", ["ETag": "\"a\""], ["If-None-Match": "*"], true),
    ("asterisk without a stored tag", [:], ["If-None-Match": " * "], true),
    ("no stored tag", [:], ["If-None-Match": "\"a\""], false),
    (
      "tag before date: equal", ["ETag": "\"a\"", "Last-Modified": Rule.date()],
      ["If-None-Match": "\"a\"", "If-Modified-Since": Rule.date(-1)], true
    ),
    (
      "tag before date: other", ["ETag": "\"a\"", "Last-Modified": modified],
      ["If-None-Match": "\"b\"", "If-Modified-Since": Rule.date()], false
    ),
    ("the stored date", ["Last-Modified": modified], ["If-Modified-Since": modified], true),
    ("a later date", ["Last-Modified": modified], ["If-Modified-Since": Rule.date(-2000)], true),
    ("an earlier date", ["Last-Modified": modified], ["If-Modified-Since": Rule.date(-3001)], false),
    (
      "the stored date in another form", ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
      ["If-Modified-Since": "Sunday, 06-Nov-94 08:49:37 GMT"], true
    ),
    ("no date at all", ["Last-Modified": modified], ["If-Modified-Since": "x"], false),
    (
      "Date in place of Last-Modified: later", ["Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-59)], true
    ),
    (
      "Date in place of Last-Modified: earlier", ["Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-61)], false
    ),
    (
      "Last-Modified before Date: older", ["Last-Modified": Rule.date(-60), "Date": Rule.date()],
      ["If-Modified-Since": Rule.date(-30)], true
    ),
    (
      "Last-Modified before Date: newer", ["Last-Modified": Rule.date(), "Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-30)], false
    ),
    (
      "Date in place of an unreadable Last-Modified", ["Last-Modified": "x", "Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-60)], true
    ),
    ("a tag that is none", ["ETag": "a"], ["If-None-Match": "a"], false),
    ("no tag, though the date holds", [:], ["If-None-Match": "x", "If-Modified-Since": Rule.date()], false),
    ("If-Match alone", ["ETag": "\"a\""], ["If-Match": "\"a\""], false),
    ("receipt in place of both: equal", [:], ["If-Modified-Since": Rule.date()], true),
    ("receipt in place of both: earlier", [:], ["If-Modified-Since": Rule.date(-1)], false),
  ]

  @Test("A precondition that holds is a 304", arguments: cases.indices) func table(index: Int) {
    let (name, stored, asked, isNotModified) = Self.cases[index]
    let row = Rule.row(stored)
    #expect(
      Precondition.isNotModified(requestFields: asked, stored: row) == isNotModified, Comment(rawValue: name))
    let served = ServedResponse(row, method: .get, requestFields: asked, now: Rule.noon)
    #expect((served.status == 304) == isNotModified, Comment(rawValue: name))
    #expect(served.body == (isNotModified ? 0..<0 : 0..<4), Comment(rawValue: name))
  }

  @Test("Only a 200 is judged by preconditions") func onlyOK() {
    for status in [199, 201, 203, 206, 304, 404] {
      let row = Rule.row(status: status, ["ETag": "\"a\""])
      #expect(
        !Precondition.isNotModified(requestFields: ["If-None-Match": "\"a\""], stored: row), "\(status)")
    }
  }

  static let ranges: [(name: String, stored: HTTPFields, condition: String?, allowed: Bool)] = [
    ("no If-Range", [:], nil, true),
    ("the stored strong tag", ["ETag": "\"a\""], "\"a\"", true),
    ("another tag", ["ETag": "\"a\""], "\"b\"", false),
    ("a weak tag", ["ETag": "W/\"a\""], "W/\"a\"", false),
    ("no stored tag", [:], "\"a\"", false),
    ("the stored date, strong", ["Last-Modified": modified, "Date": Rule.date()], modified, true),
    (
      "the stored date, made in the same second", ["Last-Modified": Rule.date(), "Date": Rule.date()],
      Rule.date(), false
    ),
    (
      "the stored date, made one second before", ["Last-Modified": Rule.date(-1), "Date": Rule.date()],
      Rule.date(-1), true
    ),
    (
      "the stored date, made a second after", ["Last-Modified": Rule.date(1), "Date": Rule.date()],
      Rule.date(1), false
    ),
    ("the stored date, received one second later", ["Last-Modified": Rule.date(-1)], Rule.date(-1), true),
    ("the stored date, received in its second", ["Last-Modified": Rule.date()], Rule.date(), false),
    ("a strong tag for a stored weak one", ["ETag": "W/\"a\""], "\"a\"", false),
    ("a weak tag for a stored strong one", ["ETag": "\"a\""], "W/\"a\"", false),
    ("a strong tag for a stored text that is none", ["ETag": "a"], "\"a\"", false),
    ("an unreadable stored date", ["Last-Modified": "x", "Date": Rule.date()], modified, false),
    ("an earlier date", ["Last-Modified": modified, "Date": Rule.date()], Rule.date(-3001), false),
    ("a later date", ["Last-Modified": modified, "Date": Rule.date()], Rule.date(-2000), false),
    ("no stored date", [:], modified, false),
    ("neither tag nor date", ["ETag": "\"a\""], "a", false),
  ]

  @Test("If-Range cuts only from the representation it names", arguments: ranges.indices) func ifRange(
    index: Int
  ) {
    let (name, stored, condition, allowed) = Self.ranges[index]
    var asked: HTTPFields = ["Range": "bytes=0-1"]
    if let condition { asked.append("If-Range", condition) }
    let served = ServedResponse(Rule.row(stored), method: .get, requestFields: asked, now: Rule.noon)
    #expect((served.status == 206) == allowed, Comment(rawValue: name))
    #expect(
      Precondition.allowsRange(requestFields: asked, stored: Rule.row(stored)) == allowed,
      Comment(rawValue: name))
  }
}
