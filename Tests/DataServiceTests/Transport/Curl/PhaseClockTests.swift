import CacheStore
import DataService
import Testing
import TestTurns

@Suite("The clock of an exchange", .inTurn) struct PhaseClockTests {
  private var limits: Limits {
    var limits = Limits()
    limits.connectTimeout = .seconds(5)
    limits.firstByteTimeout = .seconds(30)
    limits.idleTimeout = .seconds(20)
    limits.totalTimeout = .seconds(600)
    return limits
  }

  @Test(
    "Each phase has its own limit",
    arguments: [
      (PhaseClock.Phase.queued, 600, DataServiceError.Kind.Phase.total), (.connecting, 15, .connect),
      (.sending, 30, .idle), (.waiting, 40, .firstByte), (.receiving, 30, .idle), (.paused, 600, .total),
    ] as [(PhaseClock.Phase, Int64, DataServiceError.Kind.Phase)]) func phases(
      phase: PhaseClock.Phase, seconds: Int64, expected: DataServiceError.Kind.Phase
    )
  {
    var clock = PhaseClock(limits: limits, now: 0)
    clock.enter(phase, at: 10_000_000_000)
    #expect(clock.deadline.instant == seconds * 1_000_000_000)
    #expect(clock.deadline.phase == expected)
  }

  @Test func `the total comes first where it is nearer`() {
    var clock = PhaseClock(limits: limits, now: 0)
    clock.enter(.receiving, at: 590_000_000_000)
    #expect(clock.deadline.phase == .total && clock.deadline.instant == 600_000_000_000)
  }

  @Test func `a limit too long to count never comes`() {
    var limits = limits
    limits.totalTimeout = .seconds(Int64.max)
    limits.idleTimeout = .seconds(Int64.max)
    var clock = PhaseClock(limits: limits, now: 5)
    clock.enter(.receiving, at: 9)
    #expect(clock.deadline.instant == .max)
  }

  @Test("The phase's limit counts where it is before the total") func borders() {
    for (nanoseconds, phase) in [(-1, .idle), (0, .total), (1, .total)]
      as [(Int64, DataServiceError.Kind.Phase)]
    {
      var clock = PhaseClock(limits: limits, now: 1_000)
      clock.enter(.receiving, at: 580_000_001_000 + nanoseconds)
      #expect(clock.deadline.phase == phase, "\(nanoseconds)")
      #expect(clock.deadline.instant == 600_000_001_000 + min(nanoseconds, 0), "\(nanoseconds)")
    }
    let queued = PhaseClock(limits: limits, now: 1_000)
    #expect(queued.deadline.instant == 600_000_001_000 && queued.deadline.phase == .total)
  }

  @Test("An error says what took how long, and for whom") func messages() {
    let times: [(duration: Duration, words: String)] = [
      (.seconds(5), "5 seconds"), (.seconds(1), "1 second"), (.zero, "0 seconds"),
      (.milliseconds(200), "200 ms"),
      (.milliseconds(1), "1 ms"), (.milliseconds(999), "999 ms"), (.milliseconds(1_001), "1.001 seconds"),
      (.milliseconds(1_050), "1.05 seconds"), (.milliseconds(1_500), "1.5 seconds"),
      (.milliseconds(10_250), "10.25 seconds"), (.microseconds(1_999), "1 ms"),
      (.seconds(600), "600 seconds"),
    ]
    for (duration, words) in times {
      var limits = Limits()
      limits.connectTimeout = duration
      limits.firstByteTimeout = duration + .seconds(1_000)
      limits.idleTimeout = duration + .seconds(2_000)
      let error = DataServiceError.timeout(.connect, host: "a.test", limits: limits)
      #expect(error.message == "no connection to a.test within \(words)", "\(duration)")
    }
    let cases: [(phase: DataServiceError.Kind.Phase, message: String, isOfConnecting: Bool)] = [
      (.connect, "no connection to a.test within 5 seconds", true),
      (.firstByte, "no response from a.test within 30 seconds", false),
      (.idle, "a.test was silent for 20 seconds", false),
      (.total, "the response from a.test did not complete within the time limit", false),
      (.deadline, "the response from a.test did not complete within the time limit", false),
    ]
    for (phase, message, isOfConnecting) in cases {
      let error = DataServiceError.timeout(phase, host: "a.test", limits: limits)
      #expect(error.kind == .timeout(phase) && error.message == message, "\(phase)")
      #expect(error.remedy == (isOfConnecting ? .longerConnectTimeout : .longerTimeout), "\(phase)")
    }
  }
}
