import PlatformC
import Testing
import TestTurns

@testable import cachefetch

/// Each in a process of its own, since a signal is handled in one way by all of a process.
@Suite("System: signals that end the command", .inTurn) struct SignalsTests {
  /// Installs the handler where the process heeds signals, whatever it has inherited, and its threads block.
  private static func install() {
    for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_UNBLOCK, &all, nil)
    Signals.install()
  }

  /// Ends the process with 5 if the alarm was set to five seconds since that instant. What is left of them is
  /// given in whole seconds, the nearest ones, and a busy machine may have let some of them pass.
  private static func exitWithAlarm(setSince began: ContinuousClock.Instant) -> Never {
    let left = Duration.seconds(Int64(alarm(0)))
    let passed = ContinuousClock.now - began
    exit(left <= .seconds(5) && left + passed + .milliseconds(500) >= .seconds(5) ? 5 : 1)
  }

  @Test func `the first signal is noted, and cleaning up has five seconds`() async {
    await #expect(processExitsWith: .exitCode(5)) {
      Self.install()
      let began = ContinuousClock.now
      raise(SIGTERM)
      try #require(Signals.pending == SIGTERM && Signals.exitStatus == .terminated)
      Self.exitWithAlarm(setSince: began)
    }
  }

  @Test func `when they are over the process ends with the status of the signal`() async {
    await #expect(processExitsWith: .exitCode(130)) {
      Self.install()
      raise(SIGINT)
      raise(SIGALRM)
    }
  }

  @Test func `one that comes to another thread is handed to the main one`() async {
    await #expect(processExitsWith: .exitCode(5)) {
      Self.install()
      let began = ContinuousClock.now
      var thread = pthread_t()
      let made = pthread_create(
        &thread, nil,
        { _ in
          raise(SIGTERM)
          return nil
        }, nil)
      try #require(made == 0)
      pthread_join(thread, nil)
      for _ in 0..<1_000_000 where Signals.pending == nil { sched_yield() }
      try #require(Signals.pending == SIGTERM)
      Self.exitWithAlarm(setSince: began)
    }
  }

  @Test func `a closed pipe and a file too large are errors of a write, not the end`() async {
    await #expect(processExitsWith: .exitCode(6)) {
      for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_DFL) }
      Self.install()
      raise(SIGPIPE)
      raise(SIGXFSZ)
      exit(6)
    }
  }

  @Test func `a second signal ends the process at once`() async {
    await #expect(processExitsWith: .exitCode(143)) {
      Self.install()
      raise(SIGINT)
      raise(SIGTERM)
    }
  }
}
