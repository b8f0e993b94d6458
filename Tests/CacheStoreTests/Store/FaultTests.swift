import CFaultVFS
import CacheStore
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Every call to the file system failing once, and for good", .inTurn) struct FaultTests {
  struct Fault: Sendable, CustomTestStringConvertible {
    var name: String
    var kinds: Int
    var mode: Int
    var lasting = false
    /// What the store may say.
    var reasons: Set<CacheStoreError.Reason>
    var testDescription: String { name }
  }

  static let faults = [
    Fault(name: "write fails", kinds: FAULT_WRITE, mode: FAULT_ERROR, reasons: [.other]),
    Fault(name: "writes fail", kinds: FAULT_WRITE, mode: FAULT_ERROR, lasting: true, reasons: [.other]),
    Fault(name: "short write", kinds: FAULT_WRITE, mode: FAULT_SHORT, reasons: [.other]),
    Fault(name: "full disk at a write", kinds: FAULT_WRITE, mode: FAULT_FULL, reasons: [.full]),
    Fault(name: "full disk", kinds: FAULT_WRITE, mode: FAULT_FULL, lasting: true, reasons: [.full]),
    Fault(name: "sync fails", kinds: FAULT_SYNC, mode: FAULT_ERROR, reasons: [.other]),
    Fault(name: "open fails", kinds: FAULT_OPEN, mode: FAULT_ERROR, reasons: [.cannotOpen]),
    Fault(name: "opens fail", kinds: FAULT_OPEN, mode: FAULT_ERROR, lasting: true, reasons: [.cannotOpen]),
    Fault(name: "lock fails", kinds: FAULT_LOCK, mode: FAULT_ERROR, reasons: [.busy]),
    Fault(name: "lock in shared memory fails", kinds: FAULT_SHARED_LOCK, mode: FAULT_ERROR, reasons: [.busy]),
    Fault(name: "locks fail", kinds: FAULT_LOCK, mode: FAULT_ERROR, lasting: true, reasons: [.busy]),
    Fault(name: "truncate fails", kinds: FAULT_TRUNCATE, mode: FAULT_ERROR, reasons: [.other]),
    Fault(name: "shared memory fails", kinds: FAULT_SHARED_MEMORY, mode: FAULT_ERROR, reasons: [.other]),
    // Those that have the file open keep whoever would go over to a rollback journal waiting.
    Fault(
      name: "no more shared memory", kinds: FAULT_SHARED_MEMORY, mode: FAULT_ERROR, lasting: true,
      reasons: [.other, .busy]),
    Fault(name: "read fails", kinds: FAULT_READ, mode: FAULT_ERROR, reasons: [.other]),
    Fault(name: "reads fail", kinds: FAULT_READ, mode: FAULT_ERROR, lasting: true, reasons: [.other]),
  ]

  @Test("The laws hold after each, and the error is the right one", arguments: faults)
  func fault(_ fault: Fault) async throws {
    let vfs = "fault-\(fault.name)"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    // Every call with CACHEFETCH_FAULT_STEP=1; else some of them, others each time, the first twenty always.
    let step = Int64(wished("CACHEFETCH_FAULT_STEP", else: 50))
    var nth: Int64 = 1
    var tried = 0
    while nth < 3_000, try await scenario(fault, vfs, nth) {
      tried += 1
      nth += nth < 20 ? 1 : Int64.random(in: 1...(2 * step - 1))
    }
    print("tried: \(fault.name), at \(tried) calls")
    #expect(nth > 1, "the fault was never reached")
    #expect(nth < 3_000)
  }

  /// One life of a store with the n-th call failing.
  /// - Returns: Whether there was an n-th call.
  private func scenario(_ fault: Fault, _ vfs: String, _ nth: Int64) async throws -> Bool {
    let fixture = try StoreFixture {
      $0.vfs = vfs
      $0.chunkBytes = 5000
      $0.busyTimeout = .milliseconds(2)
      $0.releasedLifetime = .zero
    }
    let comment: Comment = "\(fault.name), call \(nth)"
    faultvfs_arm(vfs, Int32(fault.kinds), nth, Int32(fault.mode), fault.lasting ? 1 : 0)
    var stored: [Set<Data?>] = [[nil], [nil]]
    let keys = (0..<2).map { RequestKey(target: "https://example.org/\($0)") }
    let store = fixture.store
    for (step, count) in [100, 12_000, 200, 300, 12_001].enumerated() {
      let key = step % 2
      let bytes = pattern(count, seed: UInt8(step))
      do {
        _ = try await store.put(bytes, for: keys[key], at: Int64(step + 1))
        stored[key] = [bytes]
      } catch let error as CacheStoreError {
        #expect(fault.reasons.contains(error.reason), "\(error) \(comment)")
        // Where the error came after the commit nobody can know which of the two is there.
        stored[key].insert(bytes)
      }
      try await check(store, keys[key], &stored[key], fault, comment)
    }
    await store.performMaintenance(budget: .seconds(60))
    do { try await store.signOut(accountName: "bob") } catch {
      #expect(fault.reasons.contains(error.reason), "\(error) \(comment)")
    }
    let reached = faultvfs_count(vfs) >= nth
    faultvfs_arm(vfs, 0, 0, 0, 0)
    await store.close()
    let after = fixture.another()
    for key in 0..<2 { try await check(after, keys[key], &stored[key], nil, comment) }
    _ = try await after.put("after", for: keys[0], at: 9)
    #expect(try await after.body(of: keys[0]) == "after", comment)
    await after.close()
    #expect(try fixture.sql("PRAGMA integrity_check") == [["ok"]], comment)
    return reached
  }

  private func check(
    _ store: ResponseStore, _ key: RequestKey, _ allowed: inout Set<Data?>, _ fault: Fault?,
    _ comment: Comment
  ) async throws {
    do {
      let found = try await store.lookup(key)
      #expect(found.damaged == 0, comment)
      var body: Data?
      if let row = found.rows.first { body = try await store.wholeBody(row) }
      #expect(allowed.contains(body), "\(body?.count ?? -1) bytes of \(key.target), \(comment)")
      allowed = [body]
    } catch let error as CacheStoreError {
      #expect(fault?.reasons.contains(error.reason) == true, "\(error) \(comment)")
    }
  }
}
