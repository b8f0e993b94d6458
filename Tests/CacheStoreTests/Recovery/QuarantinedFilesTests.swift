import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Damaged files that are kept", .inTurn) struct QuarantinedFilesTests {
  @Test func `each has the date of its repair, a second one of the same second a number`() throws {
    let folder = try TemporaryFolder()
    let kept = QuarantinedFiles(files: StoreFiles(path: folder.file("store.sqlite")))
    // 2026-01-02 03:04:05 UTC
    let instant: Int64 = 1_767_323_045_999
    let first = folder.file("store.sqlite.damaged-20260102T030405Z")
    for name in [first, first + "-2", first + "-3"] {
      #expect(kept.freeName(at: instant) == name, "\(name)")
      #expect(
        kept.freeName(at: instant + 1) == folder.file("store.sqlite.damaged-20260102T030406Z"), "\(name)")
      try folder.write("x", to: String(name.dropFirst(folder.path.count + 1)))
    }
  }

  @Test func `the two newest stay, with their logs, and nothing else goes`() throws {
    let folder = try TemporaryFolder()
    let kept = QuarantinedFiles(files: StoreFiles(path: folder.file("store.sqlite")))
    let names = ["20251231T235959Z", "20260101T000000Z", "20260101T000000Z-2"].map {
      "store.sqlite.damaged-" + $0
    }
    for name in names + ["store.sqlite", "store.sqlite-wal", "other.sqlite.damaged-20240101T000000Z"] {
      try folder.write("x", to: name)
    }
    for name in names { try folder.write("x", to: name + "-wal") }
    #expect(kept.all() == names.map { folder.file($0) })
    kept.prune()
    #expect(kept.all() == names.dropFirst().map { folder.file($0) })
    let left = names.dropFirst().flatMap { [$0, $0 + "-wal"] }
    #expect(
      try Set(folder.names())
        == Set(left + ["store.sqlite", "store.sqlite-wal", "other.sqlite.damaged-20240101T000000Z"]))
    #expect(StoreFiles(path: "/store.sqlite").folder == "/")
  }

  @Test func `numbers of a date have two digits, be they below ten or not`() throws {
    let folder = try TemporaryFolder()
    let kept = QuarantinedFiles(files: StoreFiles(path: folder.file("store.sqlite")))
    // 2026-10-10 10:10:10 UTC, and a second earlier.
    let instant: Int64 = 1_791_627_010_000
    #expect(kept.freeName(at: instant) == folder.file("store.sqlite.damaged-20261010T101010Z"))
    #expect(kept.freeName(at: instant - 1) == folder.file("store.sqlite.damaged-20261010T101009Z"))
  }
}
