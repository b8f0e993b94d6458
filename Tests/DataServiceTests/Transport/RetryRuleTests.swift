import DataService
import Testing
import TestTurns

@Suite("Retries", .inTurn) struct RetryRuleTests {
  private let rule = RetryRule()

  private func decision(
    _ outcome: RetryRule.Outcome, attempt: Int = 1, retries: Int = 2, isRepeatable: Bool = true,
    remaining: Duration = .seconds(600), random: Double = 0.5
  ) -> RetryRule.Decision {
    rule.decision(
      after: outcome, attempt: attempt, retries: retries, isRepeatable: isRepeatable, remaining: remaining,
      random: random)
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

  @Test("Statuses that may pass", arguments: [408, 429, 500, 502, 503, 504]) func statuses(status: Int) {
    #expect(decision(.status(status, retryAfter: nil)) == .retry(after: .milliseconds(125)))
  }

  @Test("Statuses that are answers", arguments: [200, 304, 400, 401, 404, 410, 501, 505, 599, 999])
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
      #expect(delay >= .zero && delay < bound)
      #expect(delay <= bound * random + .microseconds(1))
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
      (1...8).map(OnlineWaitRule.delay) == [
        .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(5),
        .seconds(5),
        .seconds(5),
      ])
    #expect(OnlineWaitRule.delay(attempt: .max) == .seconds(5))
  }
}
