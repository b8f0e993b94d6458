import CFaultVFS
import CacheStore
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("A process killed at any instant", .inTurn) struct KillTests {
  /// 40 kills; `CACHEFETCH_KILLS=2000` for the full number.
  @Test("law 4: what was delivered as kept is there, whole, and nothing half-written", arguments: [0, 1])
  func kills(half: Int) async throws {
    var random = SeededGenerator(for: "kills \(half)")
    let total = wished("CACHEFETCH_KILLS", else: 40) / 2
    var killed = 0
    var verified = 0
    while killed < total {
      let fixture = try StoreFixture {
        $0.chunkBytes = 2000
        $0.releasedLifetime = .zero
      }
      var history = WorkerHistory()
      for _ in 0..<min(10, total - killed) {
        killed += 1
        let comment: Comment = "kill \(killed) of half \(half), seed \(random.seed)"
        let output = try await workAndDie(fixture.path, history.version + 1, &random)
        history.read(output)
        #expect(history.errors.isEmpty, "\(history.errors) \(comment)")
        if try await verify(fixture, &history, comment) { verified += 1 }
      }
    }
    print("tried: \(killed) kills, of which \(verified) left a store; seed \(random.seed)")
    #expect(verified > 0, "no worker lived to make a store, seed \(random.seed)")
  }

  /// Kills a worker at one of its own calls, or once it has said so much.
  private func workAndDie(_ path: String, _ first: Int64, _ random: inout SeededGenerator) async throws
    -> String
  {
    var arguments = ["work", path, "\(UInt32.random(in: 0...UInt32.max, using: &random))", "\(first)", "40"]
    guard Bool.random(using: &random) else {
      let child = try ChildProcess(try BuiltProduct.path("StoreDriver"), arguments)
      let bytes = Int.random(in: 0..<1_500, using: &random)
      await child.output.waits(forBytes: bytes)
      child.send(SIGKILL)
      return await child.finished().outputText
    }
    let kinds =
      [
        FAULT_WRITE, FAULT_SYNC, FAULT_LOCK | FAULT_SHARED_LOCK, FAULT_TRUNCATE | FAULT_SYNC | FAULT_WRITE,
        FAULT_OPEN | FAULT_SHARED_MEMORY,
      ]
    let (kind, most) =
      Array(zip(kinds, [300, 12, 400, 300, 9])).randomElement(using: &random) ?? (FAULT_WRITE, 300)
    arguments += ["\(kind)", "\(Int.random(in: 1...most, using: &random))"]
    return try await ChildProcess.run(try BuiltProduct.path("StoreDriver"), arguments).outputText
  }

  /// Returns whether there was a store to look at: a worker that was killed early has made none, and said so of nothing.
  private func verify(
    _ fixture: StoreFixture, _ history: inout WorkerHistory, _ comment: Comment
  ) async throws -> Bool {
    let store = fixture.another()
    try await history.check(store, "\(comment)")
    for key in 0..<6 { #expect(try store.tryLease(UInt64(key)) != nil, "a lease sticks: \(comment)") }
    guard FileStatusProbe.exists(fixture.path) else {
      #expect(history.confirmed.allSatisfy { $0 == .none }, "\(comment)")
      return false
    }
    _ = try await store.accountID(named: "")
    await store.performMaintenance(budget: .seconds(60))
    await store.close()
    #expect(try fixture.sql("PRAGMA integrity_check") == [["ok"]], "\(comment)")
    #expect(try fixture.remains() == 0, "\(comment)")
    #expect(try fixture.sql("PRAGMA foreign_key_check").isEmpty, "\(comment)")
    return true
  }

  @Test func `fifty processes that open a new store at once make one, in each of ten rounds`() async throws {
    let driver = try BuiltProduct.path("StoreDriver")
    for round in 0..<10 {
      let fixture = try StoreFixture()
      let outputs = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<50 {
          group.addTask { try await ChildProcess.run(driver, ["open", fixture.path]).outputText }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      // A new store numbers its accounts from an instant of its own: two stores would say two numbers.
      #expect(
        Set(outputs).count == 1 && outputs.allSatisfy { $0.hasPrefix("account ") },
        "round \(round): \(Set(outputs))")
    }
  }
}

enum FileStatusProbe {
  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
