import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore
@testable import cachefetch

@Suite("Command: rows that are copied while they are overwritten", .inTurn) struct RowCopyTests {
  private static let key = RequestKey(target: "https://example.org/page")

  /// Two stores: one to copy from and one to copy to.
  private struct Stores {
    let folder: TemporaryFolder
    let source: ResponseStore
    let target: ResponseStore
    var copy: RowCopy { RowCopy(source: source, target: target) }

    init() throws {
      folder = try TemporaryFolder()
      source = ResponseStore(configuration: .unhurried(path: folder.file("store.sqlite")))
      target = ResponseStore(configuration: .unhurried(path: folder.file("copy.sqlite")))
    }
  }

  /// Stores the response of a number: it was received then, its ETag says it, and each byte of its body is it.
  private func put(
    _ number: UInt8, bytes count: Int, for key: RequestKey = Self.key, in store: ResponseStore
  ) async throws {
    let account = try await store.accountID(named: key.account)
    _ = try await store.overwrite(
      ResponseStore.Write(
        accountID: account, key: key, started: StartMark(boot: "boot", nanoseconds: Int64(number)),
        status: 200, fields: ["ETag": "\"\(number)\""], receivedAt: Int64(number),
        body: .bytes(Data(repeating: number, count: count))))
  }

  @Test(
    "a row that was overwritten since it was listed is copied with its own body, or as it is now",
    arguments: [
      (10, 10), (2_000, 2_000), (2_000, 3_000), (2_000, 10), (10, 2_000), (100_000, 100_000), (100_000, 10),
      (10, 0), (0, 10), (10, 600_000), (600_000, 10), (600_000, 600_000),
    ])
  func overwritten(before: Int, after: Int) async throws {
    let stores = try Stores()
    try await put(1, bytes: before, in: stores.source)
    let listed = try #require(try await stores.source.entries().first)
    try await put(2, bytes: after, in: stores.source)
    #expect(try await stores.copy.copyNewest(listed))
    let row = try #require(try await stores.target.lookup(Self.key).rows.first)
    let number = try #require(UInt8(exactly: row.receivedAt))
    #expect(row.fields.all.map(\.value) == ["\"\(number)\""])
    var bytes = row.body.firstChunk
    var next = 1
    while bytes.count < row.body.length {
      bytes += try await stores.target.chunk(next, of: row.body.id)
      next += 1
    }
    #expect(bytes == Data(repeating: number, count: number == 1 ? before : after))
    if before == 600_000 {
      // Of the body that was begun for the row that is gone nothing is left.
      let copied = try RawDatabase(stores.folder.file("copy.sqlite"))
      let bodies = try copied.rows("SELECT count(*) FROM body").first?.first?.integer
      #expect(bodies == 1)
    }
  }

  @Test(arguments: [(10, 10), (2_000, 3_000), (2_000, 10)])
  func `an import takes no row in the place of the one it has looked at`(before: Int, after: Int)
    async throws
  {
    let stores = try Stores()
    try await put(1, bytes: before, in: stores.source)
    let listed = try #require(try await stores.source.entries().first)
    try await put(2, bytes: after, in: stores.source)
    await #expect { try await stores.copy.copy(listed, started: .imported) } throws: {
      ($0 as? CacheStoreError)?.reason == .replaced
    }
    #expect(try await stores.target.entries().isEmpty)
  }

  @Test func `of a row that was removed nothing is copied, nor what has its identifier now`() async throws {
    let stores = try Stores()
    try await put(1, bytes: 10, in: stores.source)
    let listed = try #require(try await stores.source.entries().first)
    try await stores.source.remove(.all, started: StartMark(boot: "boot", nanoseconds: 2))
    try await put(
      3, bytes: 10, for: RequestKey(account: "alice", target: Self.key.target), in: stores.source)
    #expect(try await stores.source.entries().map(\.rowID) == [listed.rowID])
    await #expect { try await stores.copy.copyNewest(listed) } throws: {
      ($0 as? CacheStoreError)?.reason == .replaced
    }
    #expect(try await stores.target.entries().isEmpty)
  }

  @Test func `a response of the target is as new where it was received at the same instant`() async throws {
    let stores = try Stores()
    try await put(2, bytes: 10, in: stores.target)
    try await put(1, bytes: 10, in: stores.source)
    let older = try #require(try await stores.source.entries().first)
    try await put(2, bytes: 10, in: stores.source)
    let same = try #require(try await stores.source.entries().first)
    try await put(3, bytes: 10, in: stores.source)
    let newer = try #require(try await stores.source.entries().first)
    // One that other request fields have led to is another response.
    var varied = older
    varied.response.variant = "accept: text/html"
    var other = older
    other.response.isGood = false
    for (name, entry, isAsNew) in [
      ("older", older, true), ("as old", same, true), ("newer", newer, false),
      ("of another variant", varied, false), ("not good", other, false),
    ] {
      #expect(try await stores.copy.hasAsNew(as: entry) == isAsNew, "\(name)")
    }
  }

  @Test(arguments: [(1_024, true), (1_023, false)])
  func `a chunk that is not its body's last has a kibibyte at least`(size: Int, isTaken: Bool) async throws {
    let folder = try TemporaryFolder()
    var configuration = StoreConfiguration.unhurried(path: folder.file("store.sqlite"))
    configuration.chunkBytes = size
    let copy = RowCopy(
      source: ResponseStore(configuration: configuration),
      target: ResponseStore(configuration: .unhurried(path: folder.file("copy.sqlite"))))
    try await put(1, bytes: 3_000, in: copy.source)
    let listed = try #require(try await copy.source.entries().first)
    if isTaken {
      #expect(try await copy.copyNewest(listed))
    } else {
      await #expect { try await copy.copyNewest(listed) } throws: {
        ($0 as? CacheStoreError)?.reason == .corrupt
      }
    }
  }
}
