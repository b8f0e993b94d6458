import CacheStore
import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: a watch as understood", .inTurn) struct WatchPlanTests {
  private func plan(_ words: String...) throws(UsageError) -> WatchPlan {
    try WatchPlan(try ArgumentParser.parse(["watch"] + words))
  }

  private func pause(_ words: String..., maxAge: Int?, least: Bool = false) throws -> Duration {
    let plan = try WatchPlan(try ArgumentParser.parse(["watch"] + words + ["http://a/"]))
    let head = maxAge.map { seconds in
      Sample.head { $0.fields = ["Cache-Control": "max-age=\(seconds)"] }
    }
    return plan.pause(after: head) { least ? $0.lowerBound : $0.upperBound }
  }

  @Test func `--every is kept to, a tenth more or less`() throws {
    #expect(try pause("--every", "10s", maxAge: 600) == .seconds(11))
    #expect(try pause("--every", "10s", maxAge: 600, least: true) == .seconds(9))
  }

  @Test func `without it the answer says how long, within bounds`() throws {
    // A fresh one is five seconds old.
    #expect(try pause(maxAge: nil) == .seconds(33) && pause(maxAge: nil, least: true) == .seconds(27))
    #expect(try pause(maxAge: 35) == .seconds(33) && pause(maxAge: 36) == .milliseconds(34_100))
    #expect(try pause(maxAge: 105) == .seconds(110))
    #expect(try pause(maxAge: 3_605) == .seconds(3_960) && pause(maxAge: 1_000_000_000) == .seconds(3_960))
  }

  @Test func `what is watched, and how often, is announced`() throws {
    #expect(
      try plan("http://a/").announcement
        == "watching http://a/ every 30 s, or as long as it stays fresh; changes are shown, Ctrl-C ends it")
    #expect(
      try plan("--every", "90s", "http://a/", "http://b/").announcement
        == "watching 2 URLs every 1 minute 30 s; changes are shown, Ctrl-C ends it")
  }

  @Test func `each option sets what it names`() throws {
    let plain = try plan("http://a/")
    #expect(plain.every == nil && !plain.endsAtChange && plain.lines.map(\.url) == ["http://a/"])
    let other = try plan("--until-changed", "--every", "10ms", "http://a/")
    #expect(other.endsAtChange && other.every == .milliseconds(10))
  }

  @Test(arguments: [("10ms", true), ("9ms", false), ("0.01", true), ("0.009", false), ("0", false)])
  func `less than 10 ms is no pause`(every: String, isTaken: Bool) throws {
    do throws(UsageError) {
      #expect(try plan("--every", every, "http://a/").every == .milliseconds(10) && isTaken)
    } catch {
      #expect(!isTaken && error.line.contains("is no pause; write at least 10ms"), "\(error.line)")
    }
  }

  @Test(arguments: ["GET", "HEAD", "OPTIONS"]) func `a safe method may be sent again`(method: String) throws {
    #expect(try plan("-X", method, "http://a/").requests.count == 1)
    #expect(throws: UsageError.self) { try plan("-X", "PUT", "http://a/") }
    #expect(try plan("-X", "PUT", "--read", "http://a/").requests.count == 1)
  }

  @Test func `bodies of up to 16 MiB are compared by the command itself`() {
    #expect(WatchPlan.largestBody == 16 * 1_024 * 1_024)
  }

  @Test func `a pause that the origin asks for is part of the outage`() {
    #expect(WatchPlan.outage(.paused) == .status && WatchPlan.outage(.offline) == .offline)
  }
}
