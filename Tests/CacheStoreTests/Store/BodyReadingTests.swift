import Dispatch
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("A stored body read ahead", .inTurn) struct BodyReadingTests {
  private func stored(_ parts: Int, in fixture: StoreFixture) async throws -> (StoredResponse, Data) {
    let body = try await fixture.store.beginBody(accountID: try await fixture.store.accountID(named: ""))
    var content = Data()
    for part in 0..<parts {
      try await body.append(pattern(1000, seed: UInt8(part)))
      content += pattern(1000, seed: UInt8(part))
    }
    _ = try await fixture.store.put("", for: .page) { $0.body = .unfinished(body) }
    return (try #require(try fixture.store.lookupNow(.page).rows.first), content)
  }

  @Test(arguments: [0, 1, 2, 3, 9]) func `all of it comes, in order, then the end, for good`(_ parts: Int)
    async throws
  {
    let fixture = try StoreFixture()
    let (row, content) = try await stored(parts, in: fixture)
    let reading = BodyReading(row.body, in: fixture.store)
    var read = Data()
    while let chunk = try await reading.next() { read += chunk }
    #expect(read == content)
    // Waits for the store's queue, so that whatever would be read behind the end has been read.
    _ = try await fixture.store.entries()
    #expect(try await reading.next() == nil)
  }

  @Test func `the first chunk is the one that the look-up read, whatever has been written over it since`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("old", for: .page)
    let row = try #require(try fixture.store.lookupNow(.page).rows.first)
    let reading = BodyReading(row.body, in: fixture.store)
    let written = try await fixture.store.put("new", for: .page, at: 2)
    #expect(try #require(written.row).body.id == row.body.id, "in place")
    #expect(try await reading.next() == Data("old".utf8))
    #expect(try await reading.next() == nil)
  }

  @Test func `law 10: a short body of two chunks is read to its end after it was replaced`() async throws {
    let fixture = try StoreFixture()
    let (row, content) = try await stored(2, in: fixture)
    _ = try await fixture.store.put("new", for: .page, at: 2)
    let reading = BodyReading(row.body, in: fixture.store)
    var read = Data()
    while let chunk = try await reading.next() { read += chunk }
    #expect(read == content)
  }

  @Test func `several who take from one reading get each chunk once`() async throws {
    let fixture = try StoreFixture()
    let (row, content) = try await stored(60, in: fixture)
    let reading = BodyReading(row.body, in: fixture.store)
    let taken = try await withThrowingTaskGroup(of: [Data].self) { group in
      for _ in 0..<4 {
        group.addTask {
          var chunks: [Data] = []
          while let chunk = try await reading.next() { chunks.append(chunk) }
          return chunks
        }
      }
      return try await group.reduce([], +)
    }
    #expect(taken.count == 60)
    #expect(Set(taken) == Set((0..<60).map { content[($0 * 1000)..<(($0 + 1) * 1000)] }))
  }

  @Test func `who waits for a chunk leaves the thread to others`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (row, content) = try await stored(3, in: fixture)
    let reading = BodyReading(row.body, in: store)
    await store.whenIdle()
    store.suspendForTesting()
    let thread = OneThread()
    let read = Task(executorPreference: thread) { () async throws -> Data in
      var bytes = Data()
      while let chunk = try await reading.next() { bytes += chunk }
      return bytes
    }
    // Has its turn once the other waits for what is not read yet.
    let resumed = Task(executorPreference: thread) { store.resumeForTesting() }
    await resumed.value
    #expect(try await read.value == content)
  }

  @Test func `two chunks are read ahead, not a third`() async throws {
    let fixture = try StoreFixture()
    let (row, content) = try await stored(9, in: fixture)
    let reading = BodyReading(row.body, in: fixture.store)
    #expect(try await reading.next() == content[..<1000])
    // Each waits for the store's queue once, so that whatever is read ahead has been read.
    for _ in 0..<20 { _ = try await fixture.store.entries() }
    try fixture.sql("UPDATE chunk SET bytes = zeroblob(1000)")
    for part in 1...2 { #expect(try await reading.next() == content[(part * 1000)..<((part + 1) * 1000)]) }
    await #expect { try await reading.next() } throws: { ($0 as? CacheStoreError)?.reason == .corrupt }
  }

  @Test func `as soon as a chunk is taken the next is read ahead in its place`() async throws {
    let fixture = try StoreFixture()
    let (row, content) = try await stored(9, in: fixture)
    let reading = BodyReading(row.body, in: fixture.store)
    for part in 0..<2 {
      #expect(try await reading.next() == content[(part * 1000)..<((part + 1) * 1000)])
      // As above: whatever is read ahead has been read.
      for _ in 0..<20 { _ = try await fixture.store.entries() }
    }
    try fixture.sql("UPDATE chunk SET bytes = zeroblob(1000)")
    for part in 2...3 { #expect(try await reading.next() == content[(part * 1000)..<((part + 1) * 1000)]) }
    await #expect { try await reading.next() } throws: { ($0 as? CacheStoreError)?.reason == .corrupt }
  }

  @Test func `law 10: of a store that is removed and made anew no byte comes of another's body`()
    async throws
  {
    let fixture = try StoreFixture()
    let (row, content) = try await stored(6, in: fixture)
    let reading = BodyReading(row.body, in: fixture.store)
    var read = try #require(try await reading.next())
    for _ in 0..<20 { _ = try await fixture.store.entries() }
    try fixture.remove()
    let other = fixture.another()
    let bobs = try await other.beginBody(accountID: try await other.accountID(named: "bob"))
    for part in 0..<6 { try await bobs.append(pattern(1000, seed: UInt8(100 + part))) }
    _ = try await other.put("", for: RequestKey(account: "bob", target: "https://example.org/bob")) {
      $0.body = .unfinished(bobs)
    }
    await #expect {
      while let chunk = try await reading.next() { read += chunk }
    } throws: {
      ($0 as? CacheStoreError)?.reason == .replaced
    }
    // What had been read ahead comes.
    #expect(read == content[..<3000])
    await other.close()
  }

  @Test func `a damaged chunk ends it, each time it is asked`() async throws {
    let fixture = try StoreFixture()
    let (row, content) = try await stored(6, in: fixture)
    try fixture.sql("UPDATE chunk SET bytes = zeroblob(1000) WHERE id & 0xFFFFF = 3")
    let reading = BodyReading(row.body, in: fixture.store)
    for part in 0..<3 { #expect(try await reading.next() == content[(part * 1000)..<((part + 1) * 1000)]) }
    for _ in 0..<2 {
      await #expect { try await reading.next() } throws: { ($0 as? CacheStoreError)?.reason == .corrupt }
    }
  }
}

/// Runs one job at a time, as a service's thread does.
private final class OneThread: TaskExecutor {
  private let queue = DispatchQueue(label: "one thread")

  func enqueue(_ job: consuming ExecutorJob) {
    let next = UnownedJob(job)
    queue.async { next.runSynchronously(on: UnownedTaskExecutor(ordinary: self)) }
  }
}
