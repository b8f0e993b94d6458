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
  @Test(arguments: ["store.sqlite", "store.sqlite-wal", "store.sqlite-journal"])
  func `each file that a commit may change is told of by itself`(name: String) async throws {
    let folder = try TemporaryFolder()
    let configuration = StoreConfiguration.unhurried(path: folder.file("store.sqlite"))
    let (told, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    var next = told.makeAsyncIterator()
    let watch = try #require(ResponseStore(configuration: configuration).watch { tell.yield() })
    #expect(mkdir(folder.file(name), 0o700) == 0)
    await next.next()
    withExtendedLifetime(watch) {}
  }

  /// That is one event, and has no name.
  @Test func `a folder that is moved away is told of`() async throws {
    let folder = try TemporaryFolder()
    let caches = folder.file("caches")
    #expect(mkdir(caches, 0o700) == 0)
    let configuration = StoreConfiguration.unhurried(path: caches + "/store.sqlite")
    let (told, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    var next = told.makeAsyncIterator()
    let watch = try #require(ResponseStore(configuration: configuration).watch { tell.yield() })
    #expect(rename(caches, folder.file("former")) == 0)
    await next.next()
    withExtendedLifetime(watch) {}
  }

  /// How many of this process's watches are of the folder of that number, or of nothing where that is `nil`.
  private func watches(of inode: UInt64?) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
      let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
      guard link?.contains("inotify") == true else { return false }
      let information = start(of: "/proc/self/fdinfo/\(name)")
      guard let inode else { return information.contains("flags:") && !information.contains("inotify wd:") }
      return information.contains(" ino:\(String(inode, radix: 16)) ")
    }
  }

  private func start(of path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }

  @Test func `a watch that is given up leaves nothing open, and so does one that cannot be`() async throws {
    let folder = try TemporaryFolder()
    let inode = try #require(FileStatus(path: folder.path)?.identity.inode)
    let store = ResponseStore(configuration: .unhurried(path: folder.file("store.sqlite")))
    do {
      let watch = try #require(store.watch {})
      #expect(try watches(of: inode) == 1)
      withExtendedLifetime(watch) {}
    }
    #expect(try await eventually { try watches(of: inode) == 0 })
    // In a file there is no folder to watch.
    try folder.write("", to: "file")
    let nowhere = ResponseStore(configuration: .unhurried(path: folder.file("file/store.sqlite")))
    let watch = nowhere.watch {}
    #expect(watch == nil)
    #expect(try await eventually { try watches(of: nil) == 0 })
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
