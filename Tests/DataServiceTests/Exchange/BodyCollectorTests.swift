import CacheStore
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// A body piece by piece, of which the store has the beginning already, or at least a place for it.
@Suite("Collecting a body, and a store that is slow or fails", .inTurn) struct BodyCollectorTests {
  private static let chunk = 64

  private let clock: VirtualClock
  private let fixture: ServiceFixture
  private var store: ResponseStore { fixture.service.store }

  init() throws {
    let clock = VirtualClock()
    self.clock = clock
    fixture = try ServiceFixture(
      transport: ScriptedTransport { _, _ in .answer("never asked") }, timekeeper: clock
    ) {
      $0.store.chunkBytes = Self.chunk
      $0.timeouts = InternalTimeouts()
    }
  }

  /// Pieces of one size, each of bytes of its own.
  private static func pieces(
    _ count: Int, of size: Int = BodyCollectorTests.chunk, _ asked: @escaping @Sendable () -> Void = {}
  ) -> DataService.BodyStream {
    let next = Mutex(0)
    return DataService.BodyStream(length: Int64(count * size)) {
      () async throws(DataServiceError) -> Data? in
      asked()
      let number = next.withLock { next in
        next += 1
        return next
      }
      return number > count ? nil : Data(repeating: UInt8(number), count: size)
    }
  }

  /// The place of a download that could be resumed.
  private func begun() async throws -> UnfinishedBody {
    let url = try #require(URL(string: "http://origin.test/item"))
    let key = try fixture.service.core.prepare(fixture.request(url), policy: .freshOnly).key
    let id = try await store.accountID(named: "")
    return try await store.beginBody(
      accountID: id,
      partial: UnfinishedBody.Partial(
        key: key, url: url.absoluteString, strongETag: "\"1\"", wholeLength: nil))
  }

  /// Collects what follows the beginning, which the store already has.
  private static func collect(
    _ stream: DataService.BodyStream, after body: UnfinishedBody, promised: Int,
    chunkBytes: Int = BodyCollectorTests.chunk, in core: ServiceCore
  ) async throws -> BodyCollector.Collected {
    var collector = BodyCollector(
      door: core.door, chunkBytes: chunkBytes, previous: nil, limit: 1 << 30,
      resuming: Resumption.Resumed(body: body, wholeLength: Int64(promised)),
      open: { () async throws(CacheStoreError) -> UnfinishedBody in body },
      progress: { _ in })
    return try await collector.collect(stream)
  }

  private static func live(_ collected: BodyCollector.Collected) -> DataService.BodyStream? {
    if case .live(let stream) = collected { return stream }
    return nil
  }

  private static func length(_ collected: BodyCollector.Collected) -> Int64? {
    if case .long(let body) = collected { return body.length }
    return nil
  }

  /// What pieces of such bytes have, one after another.
  private static func bytes(_ values: [UInt8]) -> [UInt8] {
    values.flatMap { [UInt8](repeating: $0, count: chunk) }
  }

  /// Reads to the end, and says how it ended: `nil` for the end of the body.
  private static func ending(_ stream: DataService.BodyStream) async -> DataServiceError.Kind? {
    do throws(DataServiceError) {
      while try await stream.next() != nil {}
      return nil
    } catch {
      return error.kind
    }
  }

  /// How many bodies the store has that could be resumed, and how many chunks.
  private func kept() async throws -> (partial: SQLiteValue, chunks: SQLiteValue) {
    // Comes behind whatever is queued.
    _ = try await store.accountID(named: "")
    return (
      try fixture.store.value("SELECT count(*) FROM body WHERE partial_target IS NOT NULL"),
      try fixture.store.value("SELECT count(*) FROM chunk")
    )
  }

  @Test func `two chunks are committed while more arrives, and no third before the first is`() async throws {
    let core = fixture.service.core
    let asked = Mutex(0)
    let body = try await begun()
    let stream = Self.pieces(6) { asked.withLock { $0 += 1 } }
    store.suspendForTesting()
    let collecting = Task {
      Self.length(try await Self.collect(stream, after: body, promised: 6 * Self.chunk, in: core))
    }
    await clock.whenPending(for: .milliseconds(250))
    // A full chunk is committed once more follows it. Two are under way, and the third waits for one of them.
    #expect(asked.withLock { $0 } == 4)
    store.resumeForTesting()
    #expect(try await collecting.value == Int64(6 * Self.chunk))
    await fixture.service.close()
  }

  @Test func `what the store has not committed in time it does not commit later, and nothing is lost`()
    async throws
  {
    let core = fixture.service.core
    let body = try await begun()
    let stream = Self.pieces(3)
    store.suspendForTesting()
    let collecting = Task {
      try await Self.collect(stream, after: body, promised: 3 * Self.chunk, in: core)
    }
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    let collected = try await collecting.value
    store.resumeForTesting()
    let live = try #require(Self.live(collected))
    #expect(live.length == Int64(3 * Self.chunk))
    #expect(try await live.all() == Self.bytes([1, 2, 3]))
    #expect(try await kept().chunks == 0)
    await fixture.service.close()
  }

  @Test func `where the store goes before it has committed anything, nothing need be asked for again`()
    async throws
  {
    let body = try await begun()
    body.stop(CacheStoreError(.missing, "the store was removed"))
    let collected = try await Self.collect(
      Self.pieces(3), after: body, promised: 3 * Self.chunk, in: fixture.service.core)
    let live = try #require(Self.live(collected))
    #expect(try await live.all() == Self.bytes([1, 2, 3]))
    await fixture.service.close()
  }

  @Test(
    "where the store goes with a part of the body, the whole is asked for again, however much is to come",
    arguments: [2, 10])
  func goneWithAPart(count: Int) async throws {
    let piece = 1 << 20
    let body = try await begun()
    try await body.append(Data(repeating: 9, count: Self.chunk))
    body.stop(CacheStoreError(.missing, "the store was removed"))
    let collected = try await Self.collect(
      Self.pieces(count, of: piece), after: body, promised: Self.chunk + count * piece, chunkBytes: piece,
      in: fixture.service.core)
    guard case .askAgain = collected else {
      Issue.record("\(collected)")
      return
    }
    await fixture.service.close()
  }

  @Test(
    "the beginning that was stored is given up where there is no room, and only then",
    arguments: [true, false])
  func givenUp(isFull: Bool) async throws {
    let body = try await begun()
    try await body.append(Data(repeating: 9, count: Self.chunk))
    body.stop(CacheStoreError(isFull ? .full : .other, "no more"))
    let collected = try await Self.collect(
      Self.pieces(2), after: body, promised: 3 * Self.chunk, in: fixture.service.core)
    let live = try #require(Self.live(collected))
    let before = try await kept()
    #expect(before.partial == (isFull ? 0 : 1) && before.chunks == 1)
    #expect(try await live.all() == Self.bytes([9, 1, 2]))
    let after = try await kept()
    #expect(after.partial == (isFull ? 0 : 1) && after.chunks == (isFull ? 0 : 1))
    await fixture.service.close()
  }

  @Test func `a rest that the caller reads as it comes is as long as was promised, or fails`() async throws {
    // More than is held in memory, so that the end is read by the caller. The store takes nothing of it.
    let piece = 1 << 20
    for (count, ending) in [(10, nil), (9, .truncated), (11, .truncated)] as [(Int, DataServiceError.Kind?)] {
      let body = try await begun()
      try await body.append(Data(repeating: 9, count: Self.chunk))
      body.stop(CacheStoreError(.other, "no more"))
      let promised = Self.chunk + 10 * piece
      let collected = try await Self.collect(
        Self.pieces(count, of: piece), after: body, promised: promised, chunkBytes: piece,
        in: fixture.service.core)
      let live = try #require(Self.live(collected))
      #expect(live.length == Int64(promised), "\(count) pieces")
      #expect(await Self.ending(live) == ending, "\(count) pieces")
    }
    await fixture.service.close()
  }

  @Test func `a place for a body that the store makes too late is given up`() async throws {
    let core = fixture.service.core
    let url = try #require(URL(string: "http://origin.test/item"))
    let key = try core.prepare(fixture.request(url), policy: .freshOnly).key
    let id = try await store.accountID(named: "")
    let stream = Self.pieces(3)
    store.suspendForTesting()
    let collecting = Task { () async throws -> Int? in
      var collector = BodyCollector(
        door: core.door, chunkBytes: Self.chunk, previous: nil, limit: 1 << 30,
        open: { [core] () async throws(CacheStoreError) -> UnfinishedBody in
          try await core.store.beginBody(
            accountID: id,
            partial: UnfinishedBody.Partial(
              key: key, url: "http://origin.test/item", strongETag: "\"1\"", wholeLength: nil))
        }, progress: { _ in })
      if case .short(let data) = try await collector.collect(stream) { return data.count }
      return nil
    }
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    #expect(try await collecting.value == 3 * Self.chunk)
    store.resumeForTesting()
    #expect(
      try await eventually {
        try fixture.store.value("SELECT count(*) FROM body") == 1
          && fixture.store.value("SELECT count(*) FROM body WHERE partial_target IS NOT NULL") == 0
      })
    await fixture.service.close()
  }
}
