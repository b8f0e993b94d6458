import CacheStore
import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

extension Rule {
  /// What an exchange brought at ``noon``.
  static func answer(
    _ fields: HTTPFields = [:], status: Int = 200, body: DeliveredBody = .data(Data("body".utf8)),
    wasValidated: Bool = false
  ) -> Answer {
    let head = ReceivedHead(
      status: status, fields: fields, started: StartMark(boot: "b", nanoseconds: 0), receivedAt: noon)
    return Answer(head: head, body: body, wasValidated: wasValidated, kept: .yes)
  }
}

@Suite("How an answer compares with the known row", .inTurn) struct ChangeJudgeTests {
  private func change(
    of answer: Answer, from row: StoredResponse?, _ method: RequestMethod = .get, rule: ChangeRule = .bytes
  ) throws -> DataService.Change {
    let prepared = try Rule.prepared {
      $0.method = method
      $0.changeRule = rule
    }
    return ChangeJudge.change(of: answer, from: row.map(Box.init), for: prepared)
  }

  @Test("New without a row, unchanged after a 304, else by the bytes") func order() throws {
    let other = Rule.answer(body: .data(Data("other".utf8)))
    let cases:
      [(name: String, answer: Answer, row: StoredResponse?, rule: ChangeRule, change: DataService.Change)] = [
        ("no row", Rule.answer(), nil, .bytes, .new),
        ("no row, though a 304", Rule.answer(wasValidated: true), nil, .bytes, .new),
        ("a 304", Rule.answer(body: other.body, wasValidated: true), Rule.row(), .bytes, .unchanged),
        ("a 304, by 304 only", Rule.answer(wasValidated: true), Rule.row(), .notModified, .unchanged),
        ("the same bytes", Rule.answer(), Rule.row(), .bytes, .unchanged),
        ("the same bytes, by 304 only", Rule.answer(), Rule.row(), .notModified, .changed),
        ("other bytes", other, Rule.row(), .bytes, .changed),
        ("another status, the same bytes", Rule.answer(status: 203), Rule.row(), .bytes, .unchanged),
        (
          "the same JSON", Rule.answer(body: .data(Data("[ ]".utf8))), Rule.row(body: "[]"),
          .json(ignoring: []),
          .unchanged
        ),
      ]
    for (name, answer, row, rule, expected) in cases {
      #expect(try change(of: answer, from: row, rule: rule) == expected, Comment(rawValue: name))
    }
  }

  static let heads: [(name: String, answer: HTTPFields, stored: HTTPFields, isSame: Bool)] = [
    ("nothing to compare", [:], [:], false), ("the same tag", ["ETag": "\"a\""], ["ETag": "\"a\""], true),
    ("another tag", ["ETag": "\"a\""], ["ETag": "\"b\""], false),
    ("the same Last-Modified", ["Last-Modified": "x"], ["Last-Modified": "x"], true),
    ("another Last-Modified", ["Last-Modified": "x"], ["Last-Modified": "y"], false),
    ("the same length", ["Content-Length": "4"], ["Content-Length": "4"], true),
    ("another length", ["Content-Length": "4"], ["Content-Length": "5"], false),
    ("a tag of the answer's alone", ["ETag": "\"a\""], [:], false),
    ("a tag of the row's alone", [:], ["ETag": "\"a\""], false),
    (
      "the tag before Last-Modified", ["ETag": "\"a\"", "Last-Modified": "x"],
      ["ETag": "\"a\"", "Last-Modified": "y"], true
    ),
    (
      "Last-Modified before the length", ["Last-Modified": "x", "Content-Length": "4"],
      ["Last-Modified": "y", "Content-Length": "4"], false
    ),
    (
      "what both have", ["ETag": "\"a\"", "Content-Length": "4"],
      ["Last-Modified": "y", "Content-Length": "4"], true
    ),
  ]

  @Test("A HEAD answer is compared by what stands for the bytes") func head() throws {
    for (name, answer, stored, isSame) in Self.heads {
      let comment = Comment(rawValue: name)
      let same = try change(of: Rule.answer(answer), from: Rule.row(stored), .head)
      #expect(same == (isSame ? .unchanged : .changed), comment)
      let gone = try change(of: Rule.answer(answer, status: 404), from: Rule.row(stored), .head)
      #expect(gone == .changed, comment)
    }
  }

  @Test("A body in chunks is compared while it is stored") func inChunks() throws {
    var row = Rule.row()
    row.body.length = 5
    var other = row.body
    other.id = 2
    let compared:
      [(name: String, comparison: (body: StoredResponse.Body, isSame: Bool)?, rule: ChangeRule, isSame: Bool)] =
        [
          ("the same", (row.body, true), .bytes, true), ("not the same", (row.body, false), .bytes, false),
          ("the same as another", (other, true), .bytes, false), ("not compared", nil, .bytes, false),
          ("the same, by 304 only", (row.body, true), .notModified, false),
          ("the same, as JSON", (row.body, true), .json(ignoring: []), true),
        ]
    for (name, comparison, rule, isSame) in compared {
      for body in [DeliveredBody.data(Data("body".utf8)), .stored(row.body)] {
        var answer = Rule.answer(body: body)
        answer.comparison = comparison
        #expect(
          try change(of: answer, from: row, rule: rule) == (isSame ? .unchanged : .changed),
          Comment(rawValue: name))
      }
    }
    // A stored body that is whole, and an answer that is not at hand.
    var answer = Rule.answer(body: .stored(other))
    #expect(try change(of: answer, from: Rule.row()) == .changed)
    answer.comparison = (Rule.row().body, true)
    #expect(try change(of: answer, from: Rule.row()) == .unchanged)
  }
}
