import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Watching the store's files", .inTurn) struct StoreWatchTests {
  @Test func `every commit is told of, also in a folder that came after the watch, or came again`()
    async throws
  {
    let folder = try TemporaryFolder()
    let configuration = StoreConfiguration.unhurried(path: folder.file("caches/app/store.sqlite"))
    let (told, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    var next = told.makeAsyncIterator()
    let watch = try #require(ResponseStore(configuration: configuration).watch { tell.yield() })
    for _ in 0..<2 {
      let store = ResponseStore(configuration: configuration)
      // More commits than there are folders whose making is told of.
      for number in 1...6 {
        _ = try await store.put("version \(number)", for: .page, at: Int64(number))
        await next.next()
      }
      await store.close()
      try FileManager.default.removeItem(atPath: folder.file("caches"))
      await next.next()
    }
    withExtendedLifetime(watch) {}
  }

  /// The last thing that a commit without a log does is to remove the journal.
  @Test func `a journal beside the store is told of`() async throws {
    let folder = try TemporaryFolder()
    let configuration = StoreConfiguration.unhurried(path: folder.file("store.sqlite"))
    let (told, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    var next = told.makeAsyncIterator()
    let watch = try #require(ResponseStore(configuration: configuration).watch { tell.yield() })
    try folder.write("", to: "store.sqlite-journal")
    await next.next()
    withExtendedLifetime(watch) {}
  }

  @Test func `what else is in the store's folder is not told of`() async throws {
    let folder = try TemporaryFolder()
    let configuration = StoreConfiguration.unhurried(path: folder.file("store.sqlite"))
    let (told, tell) = AsyncStream.makeStream(of: Void.self)
    var next = told.makeAsyncIterator()
    let count = Mutex(0)
    let onChange: @Sendable () -> Void = {
      count.withLock { $0 += 1 }
      tell.yield()
    }
    guard let watch = ResponseStore(configuration: configuration).watch(onChange) else {
      Issue.record("the folder is not watched")
      return
    }
    // Each is one event of the folder. The last of a round is the store's, and may come together with the others.
    let names = ["other", "store.sqlite.lock", "store.sqlite-shm", "a.store.sqlite", "store.sqlite-journal"]
    for round in 1...40 {
      for path in names.map({ folder.file($0) }) {
        #expect((round % 2 == 1 ? mkdir(path, 0o700) : rmdir(path)) == 0, "\(path), \(round)")
      }
      await next.next()
    }
    #expect(count.withLock(\.self) == 40)
    withExtendedLifetime(watch) {}
  }
}
