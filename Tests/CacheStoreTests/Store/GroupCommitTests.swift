import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("Group commit: many small writes, one transaction", .inTurn) struct GroupCommitTests {
  private func key(_ number: Int) -> RequestKey { RequestKey(target: "https://example.org/\(number)") }

  /// Transactions in the log: frames that end one say how large the file is then.
  private func commits(_ fixture: StoreFixture) throws -> Int {
    let log = try fixture.files.bytes(of: "store.sqlite-wal")
    let page = log[8..<12].reduce(0) { $0 << 8 | Int($1) }
    let salt = Array(log[16..<24])
    var commits = 0
    for frame in stride(from: 32, to: log.count, by: 24 + page) {
      let pages: ArraySlice<UInt8> = log[(frame + 4)..<(frame + 8)]
      // Frames with another salt are left from before the log was begun anew.
      guard pages.contains(where: { $0 != 0 }), Array(log[(frame + 8)..<(frame + 16)]) == salt else {
        continue
      }
      commits += 1
    }
    return commits
  }

  /// Hands in writes while the write queue stands still, so that all wait when it goes on.
  private func together(
    _ fixture: StoreFixture, _ writes: [ResponseStore.Write]
  ) async -> [Result<ResponseStore.Overwritten, CacheStoreError>] {
    let store = fixture.store
    store.suspendForTesting()
    var tasks: [Task<Result<ResponseStore.Overwritten, CacheStoreError>, Never>] = []
    for (number, write) in writes.enumerated() {
      tasks.append(
        Task {
          do throws(CacheStoreError) {
            return .success(try await store.overwrite(write))
          } catch {
            return .failure(error)
          }
        })
      // In this order.
      while store.writer.group.count <= number { await Task.yield() }
    }
    store.resumeForTesting()
    var results: [Result<ResponseStore.Overwritten, CacheStoreError>] = []
    for task in tasks { results.append(await task.value) }
    return results
  }

  private func isStored(_ result: Result<ResponseStore.Overwritten, CacheStoreError>) -> Bool {
    if case .success(.stored) = result { true } else { false }
  }

  @Test func `what is on its way together is committed together, so many at a time`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let before = try commits(fixture)
    let writes = (0..<100).map {
      fixture.store.write(Data("body \($0)".utf8), for: key($0), at: 1, accountID: account)
    }
    #expect(await together(fixture, writes).allSatisfy(isStored))
    #expect(try commits(fixture) - before == 2)
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 100)
    #expect(try await fixture.store.body(of: key(99)) == "body 99")
  }

  @Test func `a transaction holds no more bytes than so many`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let before = try commits(fixture)
    let writes = (0..<10).map {
      fixture.store.write(pattern(250_000), for: key($0), at: 1, accountID: account)
    }
    // While somebody reads, the log does not begin anew, and every commit stays in it.
    let reader = try RawDatabase(fixture.path)
    try reader.execute("BEGIN; SELECT count(*) FROM account")
    #expect(await together(fixture, writes).allSatisfy(isStored))
    #expect(try commits(fixture) - before == 3)
  }

  @Test func `one that fails takes none of the others with it`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let writes = (0..<5).map {
      fixture.store.write(
        Data("x".utf8), for: key($0), at: 1, accountID: $0 == 2 ? account + 1_000 : account)
    }
    let results = await together(fixture, writes)
    #expect(results.map(isStored) == [true, true, false, true, true])
    #expect(try #require(results[2].failure).reason == .signedOut)
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 4)
  }

  @Test func `one that may not wait for another process does not wait as long as one that may`() async throws
  {
    let fixture = try StoreFixture { $0.busyTimeout = .milliseconds(20) }
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let holder = try RawDatabase(fixture.path)
    try holder.execute("BEGIN IMMEDIATE")
    store.suspendForTesting()
    let write = store.write(Data("impatient".utf8), for: key(0), at: 1, accountID: account)
    let impatient = Task { () async -> CacheStoreError? in
      do throws(CacheStoreError) {
        _ = try await store.overwrite(write)
        return nil
      } catch {
        return error
      }
    }
    while store.writer.group.count == 0 { await Task.yield() }
    let ended = Mutex<Result<Int, CacheStoreError>?>(nil)
    let hasEnded = Gate()
    let isFirst = store.writer.group.add(
      GroupedWork(bytes: 1, deadline: Platform.monotonicNanoseconds() + 60_000_000_000) {
        (_) throws(CacheStoreError) in
        7
      } completion: { result in
        ended.withLock { $0 = result }
        hasEnded.open()
      })
    #expect(!isFirst, "it goes along with the other")
    store.resumeForTesting()
    #expect(await impatient.value?.reason == .busy)
    // Only now may the patient one go on: had they waited together, its time would be over too.
    try holder.execute("COMMIT")
    await hasEnded.wait()
    #expect(ended.withLock { $0 } == .success(7))
  }

  @Test func `law 8: in one transaction too, the exchange that began later keeps the row`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let writes = [2, 1, 3].map {
      fixture.store.write(Data("began \($0)".utf8), for: .page, at: $0, accountID: account)
    }
    let results = await together(fixture, writes)
    #expect(results.map(isStored) == [true, false, true])
    #expect(results[1] == .success(.superseded))
    #expect(try await fixture.store.body(of: .page) == "began 3")
  }

  @Test func `a store that is closed says so to all that wait`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    await fixture.store.close()
    let writes = (0..<3).map {
      fixture.store.write(Data("x".utf8), for: key($0), at: 1, accountID: account)
    }
    for result in await together(fixture, writes) {
      #expect(try #require(result.failure).reason == .closed)
    }
  }
}
