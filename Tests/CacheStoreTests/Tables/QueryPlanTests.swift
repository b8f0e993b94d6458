import TestSupport
import Testing
import TestTurns

@testable import CacheStore

/// What a statement costs must not grow with the rows that are stored.
@Suite("Plans of the prepared statements", .inTurn) struct QueryPlanTests {
  /// They go through a whole table: `rowCount` because it counts, the others because theirs has hardly a row.
  private static let mayScan: Set<Query> = [.rowCount, .lastBody, .anyRemoval]

  @Test(arguments: Query.allCases)
  func `no statement goes through a table, and none sorts rows`(query: Query) async throws {
    let store = try TemporaryStore()
    let made = ResponseStore(configuration: .unhurried(path: store.path))
    try await made.writer.perform { _ in }
    await made.close()
    let plan = try store.rows("EXPLAIN QUERY PLAN " + query.sql).map { "\($0[3])" }
    let scans = plan.filter { $0.contains("SCAN") && !$0.contains("SCAN CONSTANT ROW") }
    // Through an index that holds hardly a row, or in whose order the first that fits is wanted.
    let isBounded = scans.allSatisfy { $0.contains("body_unfinished") || $0.contains("last_use_oldest") }
    #expect(isBounded || Self.mayScan.contains(query), "\(plan)")
    if !plan.contains(where: { $0.contains("body_unfinished") }) {
      #expect(
        !plan.contains { $0.contains("TEMP B-TREE") } || query == .oldestVariant || query == .tagsOfRow,
        "\(plan)")
    }
  }
}
