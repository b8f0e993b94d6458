import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

/// A program that runs for months opens stores, keys and journals again and again.
@Suite("Files that a store has opened are closed with it", .inTurn) struct OpenFileTests {
  typealias Operation = StatementErrorTests.Operation

  /// What no table knows of.
  private static let others: [Operation] = [
    Operation(name: "a digest key that is made, and read") { filled in
      _ = try DigestKey.loadOrCreate(nextTo: filled.fixture.path)
      _ = try DigestKey.load(nextTo: filled.fixture.path)
    },
    Operation(name: "counts that are left beside the store, and added") { filled in
      filled.store.markUsed(rowID: filled.row, atMilliseconds: 7)
      #expect(filled.store.leaveUsage())
      _ = await filled.fixture.another().performMaintenance(budget: .seconds(3600))
    },
    Operation(name: "a usage journal with a second name") { filled in
      let journal = UsageJournal(files: StoreFiles(path: filled.fixture.path))
      _ = try journal.append { [0x0A] }
      #expect(link(filled.fixture.path + ".uses", filled.fixture.path + ".second") == 0)
      guard case .refused = try journal.append({ [0x0A] }) else { throw Unexpected() }
      #expect(journal.take() == nil)
    },
    Operation(name: "a lease, and a lock file that is replaced while it is held") { filled in
      let lease = try #require(try filled.store.tryLease(7))
      unlink(filled.fixture.path + ".lock")
      let other = try #require(try filled.store.tryLease(8))
      other.release()
      lease.release()
    },
    Operation(name: "a lock file with a second name") { filled in
      let other = filled.fixture.another()
      #expect(link(filled.fixture.path + ".lock", filled.fixture.path + ".second") == 0)
      #expect(throws: CacheStoreError.self) { try other.tryLease(7) }
    },
    Operation(name: "room that is reserved, and released") { filled in
      let reserve = Reserve(files: StoreFiles(path: filled.fixture.path))
      reserve.make()
      reserve.release()
      reserve.make()
    },
    Operation(name: "a body that is read ahead, and left") { filled in
      let row = try #require(try filled.store.lookupNow(.long).rows.first)
      _ = try await filled.store.chunk(1, of: row.body.id, accountID: row.accountID)
    },
  ]

  private struct Unexpected: Error {}

  @Test(
    "after any operation a store that is closed and given up has no file open",
    arguments: StatementErrorTests.operations + RefusedStatementTests.reports + others)
  func closed(operation: Operation) async throws {
    let files = try await used(by: operation)
    // What a queue still holds of the store goes when it has done its last work.
    #expect(try await eventually { try openFiles(below: files.path).isEmpty })
  }

  /// The folder of a store with which the operation was performed, and which was then closed and given up.
  private func used(by operation: Operation) async throws -> TemporaryFolder {
    let filled = try await StatementErrorTests.Filled()
    try await operation.perform(filled)
    await filled.store.close()
    return filled.fixture.files
  }

  @Test func `a damaged store that is replaced, and a file that is none, are closed too`() async throws {
    let template = try await StatementErrorTests.Filled()
    await template.store.close()
    let files = try await replaced(template.fixture.files.bytes(of: "store.sqlite"))
    #expect(try await eventually { try openFiles(below: files.path).isEmpty })
    #expect(try files.names().contains { $0.hasPrefix("store.sqlite.damaged-") })
  }

  private func replaced(_ bytes: [UInt8]) async throws -> TemporaryFolder {
    let fixture = try StoreFixture()
    var damaged = bytes
    damaged.replaceSubrange(100..<2000, with: repeatElement(0xFF, count: 1900))
    try fixture.files.write(damaged, to: "store.sqlite")
    try fixture.files.write([0], to: "store.sqlite.lock")
    chmod(fixture.path + ".lock", 0o600)
    _ = try await fixture.store.put("new", for: .page, at: 9)
    let text = try fixture.files.write(Array(String(repeating: "text ", count: 1000).utf8), to: "text")
    let other = ResponseStore(configuration: .unhurried(path: text))
    await #expect(throws: CacheStoreError.self) { try await other.put("new", for: .page) }
    await other.close()
    await fixture.store.close()
    return fixture.files
  }
}
