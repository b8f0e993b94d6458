import Testing
import TestTurns

@testable import CacheStore
@testable import cachefetch

@Suite("Output: the store's limits", .inTurn) struct LimitsReportTests {
  private static let inForce = StoreLimits(maximumBytes: 1_000, maximumRows: 10, maximumAge: .seconds(7_200))

  private func report(_ own: StoreLimits, _ inForce: StoreLimits, oldest: Int64?, removed: Int? = nil)
    -> LimitsReport
  {
    var use = StoreUse()
    use.rows = 3
    use.pinnedRows = 2
    use.fileBytes = 512
    use.oldestReceivedAt = oldest
    return LimitsReport(own: own, inForce: inForce, use: use, removed: removed)
  }

  @Test func `each limit has its line, with where it comes from and what is used of it`() {
    #expect(
      report(StoreLimits(), Self.inForce, oldest: 1_000).text(now: 61_000) == """
        size     at most 1.0 kB, the default; the file has 512 B
        entries  at most 10, the default; 3 stored, 2 of them pinned
        age      at most 2 hours, the default; the oldest was received 1 minute ago

        """)
    #expect(
      report(Self.inForce, Self.inForce, oldest: nil, removed: 1).text(now: 0) == """
        size     at most 1.0 kB, set in the store; the file has 512 B
        entries  at most 10, set in the store; 3 stored, 2 of them pinned
        age      at most 2 hours, set in the store; nothing is stored
        removed  1 entry

        """)
    #expect(
      report(StoreLimits(), StoreLimits(), oldest: 5).text(now: 4) == """
        size     no limit; the file has 512 B
        entries  no limit; 3 stored, 2 of them pinned
        age      no limit; the oldest was received just now

        """)
  }

  @Test func `its JSON object has those that there are`() {
    func line(_ report: LimitsReport) -> String { String(decoding: report.line(), as: UTF8.self) }
    #expect(
      line(report(StoreLimits(), StoreLimits(), oldest: nil))
        == #"{"max_bytes_set":false,"max_rows_set":false,"max_age_set":false,"bytes":512,"rows":3,"pinned_rows":2}"#
        + "\n")
    #expect(
      line(report(Self.inForce, Self.inForce, oldest: 1_500, removed: 4))
        == #"{"max_bytes":1000,"max_bytes_set":true,"max_rows":10,"max_rows_set":true,"max_age_ms":7200000,"#
        + #""max_age_set":true,"bytes":512,"rows":3,"pinned_rows":2,"oldest_at":"1970-01-01T00:00:01.500Z","removed":4}"#
        + "\n")
  }
}
