import DataService
import Testing
import TestTurns

@Suite("Retries", .inTurn) struct RetryRuleTests {
  private let rule = RetryRule()

  private func decision(
    _ outcome: RetryRule.AttemptResult, attempt: Int = 1, retries: Int = 2, isRepeatable: Bool = true,
    remaining: Duration = .seconds(600), patience: Duration? = nil, random: Double = 0.5
  ) -> RetryRule.Decision {
    rule.decision(
      after: outcome, attempt: attempt, retries: retries, isRepeatable: isRepeatable, remaining: remaining,
      patience: patience, random: random)
  }

  @Test(
    "Failures that may pass are tried again",
    arguments: [
      DataServiceError.Kind.dns, .refused, .unreachable, .disconnected, .truncated, .timeout(.connect),
    ]) func retried(kind: DataServiceError.Kind)
  {
    #expect(decision(.failure(kind)) == .retry(after: .milliseconds(125)))
  }

  @Test(
    "Failures that need a person, a network or another origin are not",
    arguments: [
      DataServiceError.Kind.offline, .tls("expired"), .protocol, .tooLarge, .tooManyRedirects, .cancelled,
      .libraryMissing, .invalidRequest, .signedOut, .undecodable, .timeout(.total), .timeout(.firstByte),
      .timeout(.idle), .proxy,
    ]) func notRetried(kind: DataServiceError.Kind)
  {
    #expect(decision(.failure(kind)) == .stop)
  }

  @Test("408, 429, 500 and 502 to 504 are retried", arguments: [408, 429, 500, 502, 503, 504])
  func statuses(status: Int) {
    #expect(decision(.status(status, retryAfter: nil)) == .retry(after: .milliseconds(125)))
  }

  @Test("Other statuses are answers", arguments: [200, 304, 400, 401, 404, 410, 501, 505, 599, 999])
  func answers(status: Int) {
    #expect(decision(.status(status, retryAfter: nil)) == .stop)
  }

  @Test func `a request that may change something is never repeated`() {
    #expect(decision(.failure(.refused), isRepeatable: false) == .stop)
    #expect(decision(.status(503, retryAfter: nil), isRepeatable: false) == .stop)
  }

  @Test func `there are as many retries as the limit says`() {
    #expect(decision(.failure(.refused), attempt: 2, retries: 2) != .stop)
    #expect(decision(.failure(.refused), attempt: 3, retries: 2) == .stop)
    #expect(decision(.failure(.refused), attempt: 1, retries: 0) == .stop)
  }

  @Test("Full jitter: from nothing to a bound that doubles", arguments: 1...64)
  func jitter(attempt: Int) {
    let bound = min(Duration.milliseconds(250) * (1 << min(attempt - 1, 10)), .seconds(5))
    for random in [0, 0.25, 0.5, 0.999] {
      guard
        case .retry(let delay) = decision(.failure(.refused), attempt: attempt, retries: 99, random: random)
      else {
        Issue.record("not retried")
        return
      }
      #expect(delay >= .zero && delay < bound, "\(random)")
      #expect(delay <= bound * random + .microseconds(1), "\(random)")
    }
  }

  @Test func `Retry-After in seconds is waited for, with jitter on top`() {
    let asked = Duration.seconds(7)
    #expect(decision(.status(503, retryAfter: asked)) == .retry(after: .milliseconds(7_125)))
    #expect(decision(.status(429, retryAfter: asked)) == .retry(after: .milliseconds(7_125)))
  }

  @Test func `no time at all asks for nothing`() {
    #expect(decision(.status(429, retryAfter: .seconds(-60))) == .retry(after: .milliseconds(125)))
  }

  @Test func `more than a minute is not waited for: the origin is paused until then`() {
    #expect(decision(.status(429, retryAfter: .seconds(60))) != .pause(for: .seconds(60)))
    #expect(decision(.status(429, retryAfter: .seconds(61))) == .pause(for: .seconds(61)))
    #expect(decision(.status(503, retryAfter: .seconds(3_600))) == .pause(for: .seconds(3_600)))
  }

  @Test("nobody is left alone for more than an hour", arguments: [3_601, 86_400, 2_147_483_648] as [Int64])
  func anHour(seconds: Int64) {
    #expect(decision(.status(503, retryAfter: .seconds(seconds))) == .pause(for: .seconds(3_600)))
  }

  @Test func `the pause is kept for the others when this load may not retry`() {
    #expect(decision(.status(429, retryAfter: .seconds(5)), attempt: 3) == .pause(for: .seconds(5)))
    #expect(
      decision(.status(429, retryAfter: .seconds(5)), isRepeatable: false) == .pause(for: .seconds(5)))
  }

  @Test func `Retry-After means nothing on other statuses`() {
    #expect(decision(.status(500, retryAfter: .seconds(61))) == .retry(after: .milliseconds(125)))
  }

  @Test func `a retry that could not begin within the total time is not waited for`() {
    let late = decision(.status(503, retryAfter: .seconds(30)), remaining: .seconds(20))
    #expect(late == .pause(for: .seconds(30)), "and the others hear of it")
    #expect(decision(.status(503, retryAfter: nil), remaining: .zero) == .stop)
  }

  @Test func `the budget lets a tenth of the attempts retry, and a few at once`() {
    var budget = RetryBudget(reserve: 3)
    let granted = [budget.spend(), budget.spend(), budget.spend(), budget.spend()]
    #expect(granted == [true, true, true, false])
    var retries = 0
    for _ in 0..<1_000 {
      budget.earn()
      if budget.spend() { retries += 1 }
    }
    #expect(retries == 100)
  }

  @Test func `an idle budget does not grow without bound`() {
    var budget = RetryBudget(reserve: 2)
    for _ in 0..<10_000 { budget.earn() }
    let granted = [budget.spend(), budget.spend(), budget.spend()]
    #expect(granted == [true, true, false])
  }

  @Test func `origins that fail have budgets of their own, and only the last of them are remembered`() {
    var budgets = RetryBudgets(limit: 3)
    let granted = (1...11).map { _ in budgets.spend(origin: "a") }
    let other = budgets.spend(origin: "b")
    #expect(granted == Array(repeating: true, count: 10) + [false] && other)
    for number in 0..<10_000 { _ = budgets.spend(origin: "\(number)") }
    #expect(budgets.count == 3)
    // Forgotten long ago, it begins anew.
    let anew = budgets.spend(origin: "a")
    #expect(anew)
  }

  @Test func `an origin whose budget is full again is forgotten`() {
    var budgets = RetryBudgets()
    budgets.earn(origin: "a")
    #expect(budgets.count == 0)
    let granted = [budgets.spend(origin: "a"), budgets.spend(origin: "b")]
    #expect(granted == [true, true] && budgets.count == 2)
    for _ in 1...10 { budgets.earn(origin: "a") }
    #expect(budgets.count == 1)
  }

  @Test func `waiting to be online repeats gently: a quarter of a second growing to five`() {
    #expect(
      (1...8).map { OnlineWaitRule.delay(attempt: $0, random: 1) } == [
        .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(5),
        .seconds(5),
        .seconds(5),
      ])
    #expect(OnlineWaitRule.delay(attempt: .max, random: 1) == .seconds(5))
    // Who lost the network together does not come back together.
    #expect(OnlineWaitRule.delay(attempt: 1, random: 0) == .milliseconds(125))
    #expect(OnlineWaitRule.delay(attempt: 9, random: 0.5) == .milliseconds(3_750))
  }

  @Test func `a budget earns a tenth with each attempt and holds no more than its reserve`() {
    var budget = RetryBudget(reserve: 1)
    #expect(budget.isFull)
    var granted = [budget.spend(), budget.spend()]
    #expect(granted == [true, false] && !budget.isFull)
    for _ in 1...9 { budget.earn() }
    granted = [budget.isFull, budget.spend()]
    #expect(granted == [false, false])
    budget.earn()
    #expect(budget.isFull)
    budget.earn()
    granted = [budget.isFull, budget.spend(), budget.spend()]
    #expect(granted == [true, true, false])
    var none = RetryBudget(reserve: 0)
    let isGranted = none.spend()
    #expect(!isGranted)
    #expect(RetryBudget() == RetryBudget(reserve: 10))
  }

  @Test func `of the budgets the one used longest ago goes first`() {
    var budgets = RetryBudgets(limit: 2)
    for origin in ["a", "b"] { for _ in 1...10 { _ = budgets.spend(origin: origin) } }
    var granted = [budgets.spend(origin: "a"), budgets.spend(origin: "b"), budgets.spend(origin: "a")]
    #expect(granted == [false, false, false] && budgets.count == 2, "both are exhausted")
    _ = budgets.spend(origin: "c")
    granted = [budgets.spend(origin: "a"), budgets.spend(origin: "b")]
    #expect(granted == [false, true], "b had gone, a had stayed")
    #expect(budgets.count == 2)
  }

  @Test func `there is always room for one budget`() {
    for limit in [-1, 0, 1] {
      var budgets = RetryBudgets(limit: limit)
      for _ in 1...10 { _ = budgets.spend(origin: "a") }
      let isGranted = budgets.spend(origin: "a")
      #expect(!isGranted && budgets.count == 1, "\(limit)")
    }
  }

  @Test func `of 256 origins the budgets are kept, and of one if there is room for no more`() {
    for (limit, kept) in [(nil, 256), (1, 1), (0, 1), (-1, 1)] as [(Int?, Int)] {
      var budgets = limit.map { RetryBudgets(limit: $0) } ?? RetryBudgets()
      for number in 0..<300 { _ = budgets.spend(origin: "\(number)") }
      #expect(budgets.count == kept, "\(kept)")
    }
  }

  @Test func `a bound doubles twenty times at most`() {
    var rule = RetryRule()
    rule.ceiling = .seconds(10_000_000)
    let waits: [(attempt: Int, bound: Duration)] = [
      (1, .milliseconds(250)), (2, .milliseconds(500)), (20, .seconds(131_072)), (21, .seconds(262_144)),
      (22, .seconds(262_144)), (.max, .seconds(262_144)),
    ]
    for (attempt, bound) in waits {
      let decision = rule.decision(
        after: .failure(.dns), attempt: attempt, retries: .max, isRepeatable: true,
        remaining: .seconds(10_000_000), random: 1)
      #expect(decision == .retry(after: bound), "\(attempt)")
    }
  }

  @Test func `the origin is asked for only where one has failed`() {
    var budgets = RetryBudgets()
    var asked = 0
    func origin() -> String {
      asked += 1
      return "a"
    }
    budgets.earn(origin: origin())
    #expect(asked == 0)
    _ = budgets.spend(origin: "b")
    budgets.earn(origin: origin())
    #expect(asked == 1 && budgets.count == 1)
  }

  @Test func `the decision changes exactly at each border of the rule`() {
    let cases: [(name: String, decision: RetryRule.Decision, expected: RetryRule.Decision)] = [
      ("the last retry", decision(.failure(.dns), attempt: 2), .retry(after: .milliseconds(250))),
      ("one too many", decision(.failure(.dns), attempt: 3), .stop),
      ("no time for it", decision(.failure(.dns), remaining: .milliseconds(125)), .stop),
      (
        "just time", decision(.failure(.dns), remaining: .microseconds(125_001)),
        .retry(after: .milliseconds(125))
      ),
      ("a minute", decision(.status(429, retryAfter: .seconds(60))), .retry(after: .milliseconds(60_125))),
      (
        "more than a minute", decision(.status(429, retryAfter: .milliseconds(60_001))),
        .pause(for: .milliseconds(60_001))
      ),
      ("asked for nothing, too late", decision(.status(503, retryAfter: .zero), attempt: 3), .stop),
      (
        "asked for the least, too late", decision(.status(503, retryAfter: .nanoseconds(1)), attempt: 3),
        .pause(for: .nanoseconds(1))
      ),
      ("no chance below nothing", decision(.failure(.dns), random: -1), .retry(after: .zero)),
      ("no chance above one", decision(.failure(.dns), random: 2), .retry(after: .milliseconds(250))),
      ("before the first", decision(.failure(.dns), attempt: 0), .retry(after: .milliseconds(125))),
      (
        "408 is not asked", decision(.status(408, retryAfter: .seconds(61))),
        .retry(after: .milliseconds(125))
      ),
      ("501", decision(.status(501, retryAfter: .seconds(61))), .stop),
      ("505", decision(.status(505, retryAfter: nil)), .stop),
      ("499", decision(.status(499, retryAfter: nil)), .stop),
    ]
    for (name, decision, expected) in cases { #expect(decision == expected, Comment(rawValue: name)) }
    #expect(rule.base == .milliseconds(250) && rule.ceiling == .seconds(5))
    #expect(rule.longestWait == .seconds(60) && rule.longestPause == .seconds(3_600))
  }

  @Test func `a chance is asked for only where something is tried again`() {
    var asked = 0
    func random() -> Double {
      asked += 1
      return 0
    }
    for outcome in [
      .failure(.protocol), .status(404, retryAfter: nil), .status(429, retryAfter: .seconds(61)),
    ]
      as [RetryRule.AttemptResult]
    {
      _ = rule.decision(
        after: outcome, attempt: 1, retries: 1, isRepeatable: true, remaining: .seconds(9), random: random())
    }
    #expect(asked == 0)
  }

  @Test func `a Retry-After beyond what the loads wait is a pause at once, and nothing else is`() {
    let asked = Duration.seconds(7)
    for patience in [Duration.seconds(6), .zero, .seconds(-1)] {
      #expect(decision(.status(429, retryAfter: asked), patience: patience) == .pause(for: asked))
    }
    #expect(
      decision(.status(429, retryAfter: asked), patience: .seconds(8)) == .retry(after: .milliseconds(7_125)))
    #expect(
      decision(.status(429, retryAfter: .zero), patience: .seconds(-1)) == .retry(after: .milliseconds(125)))
    #expect(decision(.status(503, retryAfter: nil), patience: .zero) == .retry(after: .milliseconds(125)))
    #expect(decision(.failure(.refused), patience: .zero) == .retry(after: .milliseconds(125)))
  }
}
