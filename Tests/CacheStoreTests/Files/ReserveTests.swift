import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Room kept for a full disk", .inTurn) struct ReserveTests {
  @Test func `it is a megabyte, for its user alone, and is released whole`() throws {
    let folder = try TemporaryFolder()
    let reserve = Reserve(files: StoreFiles(path: try folder.write("x", to: "store.sqlite")))
    reserve.make()
    let status = try #require(FileStatus(path: folder.file("store.sqlite.reserve")))
    #expect(status.bytes == 1_048_576 && status.mode == 0o600)
    reserve.make()
    #expect(FileStatus(path: folder.file("store.sqlite.reserve"))?.identity == status.identity)
    reserve.release()
    #expect(try folder.names() == ["store.sqlite"])
    reserve.release()
  }

  @Test func `anything else of that name is left alone`() throws {
    let folder = try TemporaryFolder()
    let reserve = Reserve(files: StoreFiles(path: try folder.write("x", to: "store.sqlite")))
    for count in [1, 1_048_575, 1_048_577] {
      try folder.write([UInt8](repeating: 7, count: count), to: "store.sqlite.reserve")
      reserve.make()
      reserve.release()
      #expect(FileStatus(path: folder.file("store.sqlite.reserve"))?.bytes == Int64(count), "\(count)")
    }
  }

  @Test func `an empty file, as a process leaves it that is killed while it makes one, is made whole`()
    throws
  {
    let folder = try TemporaryFolder()
    let reserve = Reserve(files: StoreFiles(path: try folder.write("x", to: "store.sqlite")))
    try folder.write("", to: "store.sqlite.reserve")
    reserve.make()
    #expect(FileStatus(path: folder.file("store.sqlite.reserve"))?.bytes == 1_048_576)
    reserve.release()
    #expect(try folder.names() == ["store.sqlite"])
  }

  @Test func `an empty file that has another name, and what is none, get no room`() throws {
    let folder = try TemporaryFolder()
    let reserve = Reserve(files: StoreFiles(path: try folder.write("x", to: "store.sqlite")))
    let theirs = try folder.write("", to: "theirs")
    let path = folder.file("store.sqlite.reserve")
    #expect(link(theirs, path) == 0)
    reserve.make()
    #expect(FileStatus(path: theirs)?.bytes == 0)
    #expect(unlink(path) == 0 && symlink(theirs, path) == 0)
    reserve.make()
    #expect(FileStatus(path: theirs)?.bytes == 0)
    // Nobody reads from it, for whom whoever opens it would wait.
    #expect(unlink(path) == 0 && mkfifo(path, 0o600) == 0)
    reserve.make()
    #expect(FileStatus(path: path)?.kind == .other)
  }
}
