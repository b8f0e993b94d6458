import CacheStore
import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: numbers with nouns", .inTurn) struct CountedTests {
  @Test func `one of something is not said as several`() {
    func setAside(_ saved: Int, _ lost: Int) -> String {
      StoreEvent.quarantined(path: "a", keptAs: "b", carriedOver: saved, lost: lost).message
    }
    #expect(setAside(1, 1).hasSuffix("; 1 response was carried over, 1 that was found could not be read"))
    #expect(setAside(0, 2).hasSuffix("; 0 responses were carried over, 2 that were found could not be read"))
    #expect(Words.entries(1) == "1 entry" && Words.entries(2) == "2 entries")
    #expect(Words.span(seconds: 1) == "1 second" && Words.span(seconds: 120) == "2 minutes")
  }

  @Test(
    "A limit of time is said as it was given",
    arguments: [
      (5_000, "5 seconds"), (1_000, "1 second"), (1_500, "1.5 seconds"), (2_050, "2.05 seconds"),
      (10_000, "10 seconds"), (200, "200 ms"),
    ])
  func limit(milliseconds: Int64, said: String) {
    var limits = Limits()
    limits.connectTimeout = .milliseconds(milliseconds)
    #expect(
      DataServiceError.timeout(.connect, host: "a", limits: limits).message
        == "no connection to a within \(said)")
  }
}
