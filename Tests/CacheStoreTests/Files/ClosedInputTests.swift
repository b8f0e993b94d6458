import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

/// A program that has closed its standard input gets its descriptor, 0, for the next file that it opens. Each in a
/// process of its own, which has closed it.
@Suite("A store in a program without standard input", .inTurn) struct ClosedInputTests {
  /// Runs the work with the files of a store in a fresh folder; the next file that is opened gets descriptor 0.
  private static func withClosedInput(
    prepare: (TemporaryFolder) throws -> Void = { _ in }, _ work: (TemporaryFolder, StoreFiles) throws -> Void
  ) throws {
    let folder = try TemporaryFolder()
    try prepare(folder)
    close(0)
    try work(folder, StoreFiles(path: folder.file("store.sqlite")))
    try #require(openFiles(below: folder.path).isEmpty, "what was opened is closed again")
  }

  @Test func `locks exclude each other, marks are read, and asking again opens nothing`() async {
    await #expect(processExitsWith: .success) {
      try Self.withClosedInput { folder, files in
        var (ours, theirs) = (LockFile(files: files), LockFile(files: files))
        try #require(try ours.tryLock(.file) && fcntl(0, F_GETFD) >= 0 && ours.isOpen)
        try #require(try !ours.tryLock(.file) && !theirs.tryLock(.file))
        ours.setMark(1, to: 7)
        try #require(try theirs.mark(1) == 7)
        try #require(try openFiles(below: files.folder).count == 2)
        try #require(unlink(files.lock) == 0)
        try #require(try !ours.isLocked(.body(1)) && !folder.contains("store.sqlite.lock"))
        (ours, theirs) = (LockFile(files: files), LockFile(files: files))
      }
    }
  }

  @Test func `the digest key is made, and read`() async {
    await #expect(processExitsWith: .success) {
      try Self.withClosedInput { folder, files in
        let made = try DigestKey.loadOrCreate(nextTo: files.database).digest([1])
        try #require(try DigestKey.load(nextTo: files.database)?.digest([1]) == made)
        try #require(try folder.names() == ["store.sqlite.key"])
      }
    }
  }

  @Test func `counts are kept`() async {
    await #expect(processExitsWith: .success) {
      try Self.withClosedInput { folder, files in
        let journal = UsageJournal(files: files)
        _ = try journal.append { () throws(CacheStoreError) in [0x61, 0x0A] }
        try #require(journal.take()?.bytes == [0x61, 0x0A])
      }
    }
  }

  @Test func `the database and its reserve are made`() async {
    await #expect(processExitsWith: .success) {
      try Self.withClosedInput { folder, files in
        try files.makeDatabase()
        Reserve(files: files).make()
        try #require(FileStatus(path: folder.file("store.sqlite.reserve"))?.bytes == 1_048_576)
      }
    }
  }

  @Test func `a damaged store is known`() async {
    await #expect(processExitsWith: .success) {
      try Self.withClosedInput { folder in
        try folder.write(Array(repeating: 7, count: 68) + Array("CFCH".utf8), to: "store.sqlite")
        try folder.write([0], to: "store.sqlite.lock")
      } _: { _, files in
        try #require(try DamageCheck.condition(of: files, waitingUntil: 0) == .damaged)
      }
    }
  }
}
