import Dispatch
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("The header of a store", .inTurn) struct HeaderTests {
  /// Two looks at one number each would sometimes see a store half made: among so many, nearly always once.
  @Test func `its two numbers are read at one instant`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.accountID(named: "")
    await fixture.store.close()
    let path = fixture.path
    // From here on the queue's alone.
    nonisolated(unsafe) let making = try RawDatabase(path)
    let rounds = Mutex(0)
    let isOver = Mutex(false)
    let failure = Mutex<(any Error)?>(nil)
    DispatchQueue(label: "making").async {
      do {
        while !isOver.withLock({ $0 }) {
          try making.execute("BEGIN IMMEDIATE; PRAGMA user_version = 0; PRAGMA application_id = 0; COMMIT")
          try making.execute(
            "BEGIN IMMEDIATE; PRAGMA user_version = 4; PRAGMA application_id = 0x43464348; COMMIT")
          rounds.withLock { $0 += 1 }
        }
      } catch { failure.withLock { $0 = error } }
    }
    let connection = try Connection(path: path, named: path, for: .reading, nil)
    // With tables and without numbers it is somebody else's.
    let both: Set = ["a store", "foreignFile"]
    var seen: Set<String> = []
    while failure.withLock({ $0 == nil }) {
      let count = rounds.withLock { $0 }
      if count >= 300_000 || (count >= 3_000 && seen.isSuperset(of: both)) { break }
      do throws(CacheStoreError) {
        _ = try Schema.content(of: connection)
        seen.insert("a store")
      } catch {
        seen.insert("\(error.reason)")
      }
    }
    isOver.withLock { $0 = true }
    #expect(failure.withLock { $0.map { "\($0)" } } == nil)
    #expect(seen.subtracting(["busy"]) == both, "\(seen)")
  }
}
