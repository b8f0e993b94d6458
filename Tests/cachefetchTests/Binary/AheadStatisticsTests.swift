import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: stats of what was begun ahead", .inTurn) struct AheadStatisticsTests {
  /// Two loads begun 100 ms before one is wanted and the other is not.
  private func filled() async throws -> Shell {
    let shell = try Shell()
    let clock = VirtualClock()
    let transport = ScriptedTransport { request, _ async in
      clock.advance(by: .milliseconds(80))
      return .answer(request.url.path() == "/item" ? "wanted" : "wasted!")
    }
    let fixture = try ServiceFixture(store: shell.store, transport: transport, timekeeper: clock)
    for path in ["item", "other"] {
      let request = DataService.Request(try #require(URL(string: "http://origin.test/\(path)")))
      let anticipation = fixture.service.anticipate(request, holdFor: .seconds(3600)) { $0.text }
      await anticipation.finished()
      clock.advance(by: .milliseconds(20))
      if path == "item" { for await _ in anticipation.commit() {} } else { anticipation.cancel() }
    }
    await fixture.service.close()
    return shell
  }

  @Test func `text and JSON say how many were wanted, what was won and what wasted`() async throws {
    let shell = try await filled()
    let text = try await shell.run("stats")
    #expect(
      text.lines.contains(
        "ahead    1 of 2 loads begun ahead was wanted (50 %); 100 ms ahead in all, 80 ms won, 7 B wasted"),
      "\(text.outputText)")
    let line = try await shell.run("stats", "--json").outputText
    #expect(
      line.contains(
        #""ahead_refused":0,"ahead_committed":1,"ahead_unused":1,"ahead_lead_ms":100,"ahead_won_ms":80,"#
          + #""ahead_wasted_bytes":7"#), "\(line)")
  }

  @Test func `where nothing was begun ahead, text says nothing of it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    #expect(try await shell.run("stats").lines.allSatisfy { !$0.hasPrefix("ahead") })
  }
}
