import CacheStore
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("No room left", .inTurn) struct FullDiskTests {
  /// The shell's limit on file sizes stands for the disk: the system itself refuses the write that goes beyond it.
  @Test(
    "law 5: what was stored before is still there, whole, and the error says full",
    arguments: [100, 200])
  func full(kilobytes: Int) async throws {
    var history = WorkerHistory()
    let fixture = try StoreFixture { $0.chunkBytes = 2000 }
    let finished = try await work(3000, on: fixture, kilobytes)
    history.read(finished.outputText)
    #expect(finished.exit == .status(1))
    #expect(
      history.errors.count == 1 && history.errors.allSatisfy { $0.contains("full") }, "\(history.errors)")
    try await history.check(fixture.store, "\(kilobytes) kB")
    // With room again it goes on.
    // Later than all that was removed, which was fenced off with its origin.
    _ = try await fixture.store.put("after", for: .page, at: 1_000_000)
    #expect(try await fixture.store.body(of: .page) == "after")
    await fixture.store.close()
    #expect(try fixture.sql("PRAGMA integrity_check") == [["ok"]])
  }

  @Test func `where only the log finds no room it is emptied, and the work goes on`() async throws {
    var history = WorkerHistory()
    let fixture = try StoreFixture { $0.chunkBytes = 2000 }
    let finished = try await work(150, on: fixture, 400)
    history.read(finished.outputText)
    #expect(finished.exit == .status(0) && history.errors.isEmpty, "\(history.errors)")
    try await history.check(fixture.store, "400 kB")
    await fixture.store.close()
  }

  private func work(
    _ operations: Int, on fixture: StoreFixture, _ kilobytes: Int
  ) async throws -> ChildProcess.Finished {
    let driver = try BuiltProduct.path("StoreDriver")
    let script = "ulimit -f \(kilobytes * 2); trap '' XFSZ; exec \"$0\" work \"$1\" 7 1 \"$2\""
    return try await ChildProcess.run("/bin/sh", ["-c", script, driver, fixture.path, "\(operations)"])
  }
}
