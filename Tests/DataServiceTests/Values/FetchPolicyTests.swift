import Testing
import TestTurns

@testable import DataService

@Suite("Policies", .inTurn) struct FetchPolicyTests {
  static let policies: [(policy: FetchPolicy, asksAlways: Bool, fallsBack: Bool, showsStoredFirst: Bool)] = [
    (.storedThenFresh, true, true, true), (.storedThenFresh(ifOlderThan: .seconds(1)), false, true, true),
    (.storedOnly, false, true, false), (.freshOnly, true, false, false),
    (.freshElseStored(), true, true, false), (.freshElseStored(within: nil), true, true, false),
    (.storedElseFresh(maxAge: .seconds(1)), false, true, false), (.http, false, false, false),
  ]

  @Test("Which ask whatever is stored, which fall back on it, and which show it first") func table() {
    for (policy, asksAlways, fallsBack, showsStoredFirst) in Self.policies {
      #expect(policy.asksAlways == asksAlways, "\(policy)")
      #expect(policy.fallsBack == fallsBack, "\(policy)")
      #expect(policy.showsStoredFirst == showsStoredFirst, "\(policy)")
    }
  }

  @Test func `fresh else stored waits three seconds where nothing is said, and gives up only where it is`() {
    // docs/using-the-library.md
    #expect(FetchPolicy.freshElseStored().kind == .freshElseStored(within: .seconds(3), endsAnyway: false))
    #expect(
      FetchPolicy.freshElseStored(within: .seconds(3)).kind
        == .freshElseStored(within: .seconds(3), endsAnyway: true))
  }

  @Test func `a policy prints as a program writes it`() {
    let all: [FetchPolicy] = [
      .storedThenFresh, .storedThenFresh(ifOlderThan: .seconds(60)), .storedOnly, .freshOnly,
      .freshElseStored(),
      .freshElseStored(within: .seconds(3)), .freshElseStored(within: nil),
      .storedElseFresh(maxAge: .seconds(5)),
      .storedElseFresh(maxAge: .seconds(5), within: .seconds(1)), .http,
      .storedThenFresh.again(ifOlderThan: nil), .storedOnly.again(ifOlderThan: .seconds(9)),
    ]
    #expect(
      all.map { "\($0)" } == [
        "storedThenFresh", "storedThenFresh(ifOlderThan: 60.0 seconds)", "storedOnly", "freshOnly",
        "freshElseStored()", "freshElseStored(within: 3.0 seconds)", "freshElseStored(within: nil)",
        "storedElseFresh(maxAge: 5.0 seconds)", "storedElseFresh(maxAge: 5.0 seconds, within: 1.0 seconds)",
        "http", "again(ifOlderThan: nil)", "again(ifOlderThan: 9.0 seconds)",
      ])
  }
}
