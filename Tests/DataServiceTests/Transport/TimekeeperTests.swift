import DataService
import Synchronization
import Testing
import TestTurns

@Suite("Durations and timers", .inTurn) struct TimekeeperTests {
  static let durations: [(name: String, duration: Duration, nanoseconds: Int64)] = [
    ("nothing", .zero, 0), ("one", .nanoseconds(1), 1), ("minus one", .nanoseconds(-1), -1),
    ("less than one", Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0),
    ("one and a half", Duration(secondsComponent: 0, attosecondsComponent: 1_500_000_000), 1),
    ("a second and a half", .milliseconds(1_500), 1_500_000_000),
    ("minus a second and a half", .milliseconds(-1_500), -1_500_000_000),
    ("the longest", Duration.nanoseconds(Int64.max), .max),
    ("the shortest", Duration.nanoseconds(Int64.min), .min),
    ("one more than the longest", Duration.nanoseconds(Int64.max) + Duration.nanoseconds(1), .max),
    ("one less than the shortest", Duration.nanoseconds(Int64.min) - Duration.nanoseconds(1), .min),
    ("whole seconds of the longest", .seconds(9_223_372_036), 9_223_372_036_000_000_000),
    ("a second more", .seconds(9_223_372_037), .max), ("a second less", .seconds(-9_223_372_037), .min),
    ("all seconds", .seconds(Int64.max), .max), ("all seconds before", .seconds(Int64.min), .min),
  ]

  @Test("Nanoseconds are held to what can be counted") func clamped() {
    for (name, duration, nanoseconds) in Self.durations {
      #expect(duration.clampedNanoseconds == nanoseconds, Comment(rawValue: name))
    }
  }

  @Test("A timer runs once, or never where it was cancelled before") func timer() {
    let count = Mutex(0)
    let timer = TimerHandle { count.withLock { $0 += 1 } }
    #expect(timer.isPending)
    timer.fire()
    #expect(!timer.isPending)
    timer.fire()
    timer.cancel()
    #expect(count.withLock { $0 } == 1)
    let cancelled = TimerHandle { count.withLock { $0 += 1 } }
    cancelled.cancel()
    #expect(!cancelled.isPending)
    cancelled.fire()
    #expect(count.withLock { $0 } == 1)
  }
}
