import Testing
import TestTurns

@testable import Launch

@Suite("How far the steps have come", .inTurn) struct ProgressMeterTests {
  typealias Part = ProgressMeter.Part

  static let cases: [(name: String, parts: [Part], fraction: Double?)] = [
    ("nothing", [], nil), ("no news", [Part(weight: 1, expected: 10)], nil),
    ("a byte", [Part(weight: 1, received: 1, expected: 10)], 0.1),
    ("an answer without a byte", [Part(weight: 1, isDone: true), Part(weight: 1)], 0.5),
    (
      "by bytes", [Part(weight: 1, received: 10, expected: 10), Part(weight: 9, received: 0, expected: 30)],
      0.25
    ),
    (
      "by weights, one length unknown",
      [Part(weight: 1, received: 5, expected: 10), Part(weight: 3, received: 5)], 0.125
    ),
    (
      "more than was expected", [Part(weight: 1, received: 20, expected: 10), Part(weight: 1, expected: 10)],
      0.5
    ),
    (
      "more than was expected, by weights",
      [Part(weight: 1, received: 20, expected: 10), Part(weight: 1)], 0.5
    ),
    (
      "done, with less than expected",
      [Part(weight: 1, received: 5, expected: 10, isDone: true), Part(weight: 1, expected: 5)], 0.5
    ),
    ("done, by weights", [Part(weight: 3, received: 5, expected: 10, isDone: true), Part(weight: 1)], 0.75),
    ("all done", [Part(weight: 0.1, isDone: true), Part(weight: 0.2, isDone: true)], 1),
    ("all here, and not done", [Part(weight: 1, received: 10, expected: 10)], 1),
    ("an empty length", [Part(weight: 1, received: 1, expected: 0), Part(weight: 1, isDone: true)], 0.5),
    ("two that are short", [Part(weight: 1, received: 1, expected: 1), Part(weight: 1, expected: 3)], 0.25),
    ("an empty length alone", [Part(weight: 1, received: 1, expected: 0)], 0),
    ("a length of one", [Part(weight: 1, received: 1, expected: 1), Part(weight: 3)], 0.25),
    (
      "lengths that no body has",
      [
        Part(weight: 1, received: Int64.max, expected: Int64.max),
        Part(weight: 1, received: 0, expected: Int64.max),
      ], 0.5
    ),
    (
      "lengths that no body has, done",
      [Part(weight: 1, received: Int64.max, isDone: true), Part(weight: 1, expected: Int64.max)], 0.5
    ),
    ("without weight", [Part(weight: 0, isDone: true), Part(weight: 0)], 1),
  ]

  @Test("It goes by bytes where every length is known, by weights otherwise") func table() {
    for (name, parts, fraction) in Self.cases {
      var meter = ProgressMeter()
      #expect(meter.fraction(of: .init(parts)) == fraction, Comment(rawValue: name))
    }
  }

  @Test("What was once said is never taken back") func monotone() {
    var meter = ProgressMeter()
    let said = [2, 1, 3, 0, 10, 5].map {
      meter.fraction(of: .init([Part(weight: 1, received: $0, expected: 10)]))
    }
    #expect(said == [0.2, 0.2, 0.3, 0.3, 1, 1])
    #expect(meter.fraction(of: .init()) == 1)
  }

  @Test("What is taken out is as if it had never been there") func remove() {
    let gone: [Part] = [
      Part(weight: 2, received: 3, expected: 4), Part(weight: 2, received: 3), Part(weight: 2, expected: 8),
      Part(weight: 2, received: 3, expected: 9, isDone: true), Part(weight: 2),
      Part(weight: 2, expected: Int64.max), Part(weight: 2, expected: Int64.max),
    ]
    for rest in [
      [Part(weight: 1, received: 1, expected: 4)], [Part(weight: 1, isDone: true), Part(weight: 3)],
    ] {
      var sum = ProgressMeter.Sum(rest + gone)
      for part in gone { sum.remove(part) }
      var (one, other) = (ProgressMeter(), ProgressMeter())
      #expect(one.fraction(of: sum) == other.fraction(of: .init(rest)), "\(rest)")
    }
    var sum = ProgressMeter.Sum([gone[0]])
    sum.remove(gone[0])
    var meter = ProgressMeter()
    #expect(meter.fraction(of: sum) == nil)
  }
}
