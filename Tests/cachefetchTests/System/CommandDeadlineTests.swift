import PlatformC
import Testing
import TestTurns

@testable import cachefetch

/// In a process of its own, since all of a process has one.
@Suite("System: the time there is to read files", .inTurn) struct CommandDeadlineTests {
  @Test func `without a limit, or with one that is too far away, there is no end to it`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      try #require(CommandDeadline.remainingMilliseconds == -1 && !CommandDeadline.isOver)
      for limit in [Duration.seconds(Int64.max), .seconds(9_223_372_036)] {
        CommandDeadline.set(limit)
        try #require(CommandDeadline.remainingMilliseconds == -1 && !CommandDeadline.isOver)
      }
      exit(7)
    }
  }

  @Test func `a limit is counted from its beginning, and is over when nothing is left`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      CommandDeadline.set(.seconds(36_000))
      let left = CommandDeadline.remainingMilliseconds
      try #require(left > 30_000_000 && left <= 36_000_000 && !CommandDeadline.isOver)
      CommandDeadline.set(.zero)
      try #require(CommandDeadline.remainingMilliseconds == 0 && CommandDeadline.isOver)
      exit(7)
    }
  }
}
