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
    // With its last lock the removed file goes.
    #expect(try openFiles(below: folder.path).allSatisfy { !$0.hasSuffix("(deleted)") })
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

  @Test func `neighbouring bytes are locks of their own`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let (ours, theirs) = (LockFile(files: files), LockFile(files: files))
    #expect(try ours.tryLock(.body(7)))
    for body in [6, 8] as [Int64] {
      #expect(try !theirs.isLocked(.body(body)), "\(body)")
      #expect(try theirs.tryLock(.body(body)), "\(body)")
    }
    #expect(try theirs.isLocked(.body(7)))
  }

  @Test func `asking whether there are no locks makes no file, and where there are some it says so`() throws {
    let folder = try TemporaryFolder()
    let lock = LockFile(files: StoreFiles(path: folder.file("store.sqlite")))
    #expect(!lock.hasNoLocks() && lock.refusal == nil)
    #expect(!folder.contains("store.sqlite.lock"))
    #expect(try lock.tryLock(.file))
    #expect(!lock.hasNoLocks() && lock.refusal == nil)
  }

  /// Processes of another release read the same places.
  @Test func `marks stand behind the first eight bytes, each in eight of its own`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let lock = LockFile(files: files)
    lock.setMark(0, to: 5)
    #expect(!folder.contains("store.sqlite.lock"), "a hint makes no file")
    #expect(try lock.mark(0) == 0)
    for (slot, value) in [(0, 0x0102), (1, -1), (3, .max)] as [(Int, Int64)] {
      lock.setMark(slot, to: value)
      #expect(try LockFile(files: files).mark(slot) == value, "\(slot)")
      let bytes = try folder.bytes(of: "store.sqlite.lock")
      let expected = withUnsafeBytes(of: value.littleEndian) { Array($0) }
      #expect(bytes.count == 16 + 8 * slot && Array(bytes.suffix(8)) == expected, "\(slot)")
    }
    #expect(try lock.mark(2) == 0)
    #expect(try lock.mark(4) == 0, "behind the end of the file")
    // Those that others follow are read as they were written.
    #expect(try lock.mark(0) == 0x0102)
    #expect(try lock.mark(1) == -1)
  }

  @Test func `a lock file that cannot be made is told, whatever is asked of it`() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("a file", to: "file")
    let lock = LockFile(files: StoreFiles(path: file + "/sub/store.sqlite"))
    let asked: [(String, () throws -> Void)] = [
      ("try", { _ = try lock.tryLock(.file) }), ("look", { _ = try lock.isLocked(.file) }),
      ("wait", { try lock.lock(.file, within: .zero) }), ("mark", { _ = try lock.mark(0) }),
    ]
    for (name, ask) in asked {
      #expect("\(name)") {
        try ask()
      } throws: {
        let error = $0 as? CacheStoreError
        return error?.reason == .cannotOpen && error?.message.hasPrefix("cannot make the folder") == true
      }
    }
    #expect(!lock.isOpen && lock.refusal == nil && !lock.hasNoLocks())
  }

  @Test func `a removed lock file in which nothing is held is closed`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let lock = LockFile(files: files)
    #expect(try lock.tryLock(.body(7)))
    lock.unlock(.body(7))
    #expect(unlink(files.lock) == 0)
    #expect(try lock.tryLock(.body(8)))
    #expect(try openFiles(below: folder.path).allSatisfy { !$0.hasSuffix("(deleted)") })
    lock.unlock(.body(8))
  }

  @Test func `whoever waits for a lock rests between two attempts`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let (ours, theirs) = (LockFile(files: files), LockFile(files: files))
    #expect(try ours.tryLock(.file))
    func nanoseconds(_ clock: clockid_t) -> Int {
      var time = timespec()
      clock_gettime(clock, &time)
      return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
    // Of the processor it takes the smaller part of the time. Once is enough: what interrupts a thread may
    // count as the thread's own.
    var isRestful = false
    for _ in 0..<5 where !isRestful {
      let (began, used) = (nanoseconds(CLOCK_MONOTONIC), nanoseconds(CLOCK_THREAD_CPUTIME_ID))
      #expect {
        try theirs.lock(.file, within: .milliseconds(10))
      } throws: {
        ($0 as? CacheStoreError)?.reason == .busy
      }
      isRestful = 2 * (nanoseconds(CLOCK_THREAD_CPUTIME_ID) - used) < nanoseconds(CLOCK_MONOTONIC) - began
    }
    #expect(isRestful)
  }

  @Test func `a lease that nothing holds any more is released`() throws {
    let folder = try TemporaryFolder()
    let lock = LockFile(files: StoreFiles(path: folder.file("store.sqlite")))
    #expect(try lock.tryLock(.body(7)))
    do {
      let lease = Lease(.body(7), of: lock)
      #expect(try lock.isLocked(.body(7)))
      withExtendedLifetime(lease) {}
    }
    #expect(try !lock.isLocked(.body(7)))
  }

  /// Linux's `O_PATH`, which the C library's module map does not export: what is opened by it takes no lock.
  private static let pathOnly: Int32 = 0o10000000

  @Test(arguments: [true, false])
  func `that the file system gives no locks is found out by asking and by locking, and known from then on`(
    isAsked: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let lock = LockFile(files: files)
    // Opens the file.
    #expect(try lock.mark(0) == 0)
    let identity = try #require(FileStatus(path: files.lock)).identity
    let opened = try #require(
      (0..<4096 as Range<Int32>).first { FileStatus(descriptor: $0)?.identity == identity })
    let other = open(files.lock, Self.pathOnly | O_CLOEXEC)
    try #require(other >= 0)
    #expect(dup2(other, opened) == opened)
    close(other)
    if isAsked {
      #expect(lock.hasNoLocks())
    } else {
      #expect {
        try lock.tryLock(.file)
      } throws: {
        ($0 as? CacheStoreError)?.reason == .cannotLock
      }
    }
    let message = lock.refusal?.message
    #expect(message?.hasPrefix("the file system gives no locks on \(files.lock)") == true)
    #expect(lock.hasNoLocks())
  }
}
