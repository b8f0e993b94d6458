import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The lock file", .inTurn) struct LockFileTests {
  @Test func `a lock is held once, by one process or one user of a process, until it is released`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let (ours, theirs) = (LockFile(files: files), LockFile(files: files))
    for place in [LockFile.Place.file, .body(7), .request(7)] {
      #expect(try ours.tryLock(place), "\(place)")
      for other in [ours, theirs] {
        #expect(try !other.tryLock(place), "\(place)")
        #expect(try other.isLocked(place), "\(place)")
      }
      theirs.unlock(place)
      #expect(try theirs.isLocked(place), "who does not hold a lock cannot release it")
      ours.unlock(place)
      for other in [ours, theirs] { #expect(try !other.isLocked(place), "\(place)") }
      #expect(try theirs.tryLock(place), "\(place)")
      theirs.unlock(place)
    }
  }

  /// Processes of another release lock the same bytes.
  @Test func `the places are those of every release`() {
    #expect(LockFile.Place.file.offset == 0)
    #expect(LockFile.Place.body(0).offset == 0x2000_0000_0000_0000)
    #expect(LockFile.Place.body(5).offset == 0x2000_0000_0000_0005)
    #expect(LockFile.Place.body(.max).offset == 0x3FFF_FFFF_FFFF_FFFF)
    #expect(LockFile.Place.request(0).offset == 0x4000_0000_0000_0000)
    #expect(LockFile.Place.request(0x1C).offset == 0x4000_0000_0000_0007)
    #expect(LockFile.Place.request(.max).offset == 0x7FFF_FFFF_FFFF_FFFF)
  }

  @Test func `what is locked in a file that was removed stays locked for its process until it is released`()
    throws
  {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let lock = LockFile(files: files)
    #expect(try lock.tryLock(.body(7)))
    #expect(try lock.tryLock(.body(8)))
    #expect(unlink(files.lock) == 0)
    // Opens the new file.
    #expect(try lock.tryLock(.body(9)))
    for body in 7...9 as ClosedRange<Int64> {
      #expect(try !lock.tryLock(.body(body)))
      #expect(try lock.isLocked(.body(body)))
    }
    lock.unlock(.body(7))
    #expect(try lock.tryLock(.body(7)))
    #expect(try lock.isLocked(.body(8)))
    lock.unlock(.body(8))
    #expect(try !lock.isLocked(.body(8)))
    // Another process sees the new file alone.
    #expect(try LockFile(files: files).isLocked(.body(7)))
  }

  @Test func `a lock in the file that took a removed one's place is seen, and asking makes no such file`()
    throws
  {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let (ours, theirs) = (LockFile(files: files), LockFile(files: files))
    #expect(try theirs.tryLock(.body(7)))
    #expect(try ours.isLocked(.body(7)))
    #expect(unlink(files.lock) == 0)
    #expect(try ours.isLocked(.body(7)), "its holder goes on in the removed file")
    #expect(!folder.contains("store.sqlite.lock"))
    #expect(try theirs.tryLock(.body(8)))
    #expect(try ours.isLocked(.body(8)))
  }
}
