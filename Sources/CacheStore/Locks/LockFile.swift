internal import Guards
internal import PlatformC

/// `STORE.lock`: a file whose byte ranges are locks for what only one process at a time may do.
///
/// The locks belong to the open file description: two stores in one process exclude each other as two processes do,
/// and the kernel releases the locks when the process ends, however it ends. No lock call blocks.
final class LockFile: Sendable {
  /// What a lock of one byte protects.
  enum Place: Hashable, Sendable {
    /// Creating the database, and quarantining a damaged one.
    case file
    /// Answering other processes on a socket.
    case serving
    /// A body that is being received.
    case body(Int64)
    /// A long body that may be read. Any number of readers share it.
    case reading(Int64)
    /// A request being refreshed, by the hash of its key.
    case request(UInt64)

    var offset: Int64 {
      switch self {
      case .file: 0
      case .serving: 1
      case .reading(let id): 1 << 60 | (id & (1 << 60 - 1))
      case .body(let id): 1 << 61 | (id & (1 << 61 - 1))
      case .request(let hash): 1 << 62 | Int64(hash >> 2)
      }
    }

    fileprivate var isShared: Bool { if case .reading = self { true } else { false } }
  }

  /// The slots of the file: the numbers in them are hints that the processes share. The file is sparse, so an unused
  /// slot costs nothing.
  enum Slot {
    /// When maintenance last ran.
    static let maintenance = -1

    /// When a lease of that hash last ended without a row. Two requests that share a slot cost at most one extra
    /// exchange.
    static func request(_ hash: UInt64) -> Int { Int(hash % requests) }

    /// What the processes share about an upstream.
    static let upstream = Int(requests)

    /// When a process that does not write last cut a long log.
    static let log = upstream + 1

    /// When one last ended with a row. Two requests that share a slot cost at most one extra look-up.
    static func stored(_ hash: UInt64) -> Int { log + 1 + request(hash) }

    /// When a process last warned of a state of an upstream that all of them meet.
    static let warning = stored(requests - 1) + 1

    /// The slots of requests, from 0 and behind all others: each of the two takes 64 KiB at most.
    private static let requests: UInt64 = 8_192
  }

  private struct Opened {
    var descriptor: Int32 = -1
    var identity: FileIdentity?
    /// The offsets locked through this description, for which the kernel would grant a second lock, and how often.
    var held: [Int64: Int] = [:]
  }

  private struct State {
    var current = Opened()
    /// Lock files that were removed while this process held locks in them.
    var removed: [Opened] = []
    var refusal: CacheStoreError?

    func isHeld(_ offset: Int64) -> Bool {
      current.held[offset] != nil || removed.contains { $0.held[offset] != nil }
    }
  }

  private let files: StoreFiles
  private let state = Guarded(State())

  init(files: StoreFiles) { self.files = files }

  deinit {
    state.withLock { state in
      for opened in state.removed + [state.current] where opened.descriptor >= 0 { close(opened.descriptor) }
    }
  }

  /// Takes the lock; `false` where another process, or another user of this object, holds one that excludes it.
  func tryLock(_ place: Place) throws(CacheStoreError) -> Bool {
    let offset = place.offset
    return try state.withLock { (state: inout State) throws(CacheStoreError) -> Bool in
      try openCurrent(&state)
      if place.isShared, let count = state.current.held[offset] {
        state.current.held[offset] = count + 1
        return true
      }
      guard place.isShared || !state.isHeld(offset) else { return false }
      guard Self.set(Int16(place.isShared ? F_RDLCK : F_WRLCK), offset, on: state.current.descriptor) else {
        let number = errno
        // For a lock that another process holds, the kernel returns EAGAIN and nothing else.
        guard number == EAGAIN else {
          let error = noLocks(number)
          state.refusal = error
          throw error
        }
        return false
      }
      state.current.held[offset] = 1
      return true
    }
  }

  private func noLocks(_ number: Int32) -> CacheStoreError {
    CacheStoreError(
      .cannotLock,
      "the file system gives no locks on \(files.lock) (\(Platform.describe(number))): each process asks for itself, "
        + "and nothing is stored", hint: "keep the store on a local disk")
  }

  /// The error once a file system has turned out to have no locks; SQLite would keep retrying.
  var refusal: CacheStoreError? { state.withLock { $0.refusal } }

  /// Whether the file system has no locks. Called where SQLite reports SQLITE_BUSY, as it also does without locks.
  /// Creates no file.
  func hasNoLocks() -> Bool {
    if refusal != nil { return true }
    guard FileStatus(path: files.lock) != nil else { return false }
    return state.withLock { state in
      guard (try? openCurrent(&state)) != nil else { return false }
      var range = flock()
      range.l_type = Int16(F_WRLCK)
      range.l_whence = Int16(SEEK_SET)
      range.l_len = 1
      guard fcntl(state.current.descriptor, F_OFD_GETLK, &range) != 0 else { return false }
      state.refusal = noLocks(errno)
      return true
    }
  }

  /// The number of locks that are held.
  var heldCount: Int {
    state.withLock { state in state.current.held.count + state.removed.map(\.held.count).reduce(0, +) }
  }

  /// Whether the file is open, so that taking a lock need not look at the folder. `false` while another thread uses
  /// the file: the file system may be blocking that thread.
  var isOpen: Bool { state.withLockIfAvailable { $0.current.descriptor >= 0 } ?? false }

  /// Opens the file that has the name now: no other process sees locks in a removed file.
  private func openCurrent(_ state: inout State) throws(CacheStoreError) {
    if state.current.descriptor >= 0 {
      guard FileStatus(path: files.lock)?.identity != state.current.identity else { return }
      if state.current.held.isEmpty {
        close(state.current.descriptor)
      } else {
        state.removed.append(state.current)
      }
      state.current = Opened()
    }
    let descriptor = try open()
    state.current = Opened(descriptor: descriptor, identity: FileStatus(descriptor: descriptor)?.identity)
  }

  /// Takes the lock, retrying every millisecond until the timeout; blocks, so never on a caller's thread.
  func lock(_ place: Place, within timeout: Duration) throws(CacheStoreError) {
    let deadline = Platform.monotonicNanoseconds() + timeout.wholeNanoseconds
    while try !tryLock(place) {
      guard Platform.monotonicNanoseconds() < deadline else {
        throw CacheStoreError(.busy, "another process is at work on the store \(files.database)")
      }
      Platform.rest(nanoseconds: 1_000_000)
    }
  }

  /// Releases the lock.
  func unlock(_ place: Place) {
    let offset = place.offset
    state.withLock { state in
      if let count = state.current.held[offset] {
        state.current.held[offset] = count > 1 ? count - 1 : nil
        if count == 1 { _ = Self.set(Int16(F_UNLCK), offset, on: state.current.descriptor) }
        return
      }
      guard let place = state.removed.firstIndex(where: { $0.held[offset] != nil }) else { return }
      state.removed[place].held[offset] = nil
      _ = Self.set(Int16(F_UNLCK), offset, on: state.removed[place].descriptor)
      guard state.removed[place].held.isEmpty else { return }
      close(state.removed.remove(at: place).descriptor)
    }
  }

  /// Whether any process, this one included, holds the lock; takes none.
  ///
  /// Other processes lock in the file that has the name now, so that one is asked. If no file has the name,
  /// none is made for a question: the removed one is asked, in which processes may still hold their locks.
  func isLocked(_ place: Place) throws(CacheStoreError) -> Bool {
    let offset = place.offset
    return try state.withLock { (state: inout State) throws(CacheStoreError) -> Bool in
      if state.isHeld(offset) { return true }
      if state.current.descriptor < 0 || FileStatus(path: files.lock) != nil { try openCurrent(&state) }
      var range = flock()
      range.l_type = Int16(F_WRLCK)
      range.l_whence = Int16(SEEK_SET)
      range.l_start = off_t(offset)
      range.l_len = 1
      guard fcntl(state.current.descriptor, F_OFD_GETLK, &range) == 0 else { return false }
      return range.l_type != Int16(F_UNLCK)
    }
  }

  /// The number last written to a slot of the file, 0 where there is none. A hint that nothing depends on.
  func mark(_ slot: Int) throws(CacheStoreError) -> Int64 {
    try state.withLock { (state: inout State) throws(CacheStoreError) -> Int64 in
      if state.current.descriptor < 0 { try openCurrent(&state) }
      var value: Int64 = 0
      let count = pread(state.current.descriptor, &value, 8, off_t(8 + 8 * slot))
      return count == 8 ? value : 0
    }
  }

  /// Marks a turn, where the one before is long enough ago: of all processes one takes it.
  ///
  /// - Parameters:
  ///   - instant: Now, in nanoseconds since boot.
  ///   - interval: How long a turn counts, in nanoseconds.
  /// - Returns: The mark of the turn before; `nil` where that still counts, or there is no lock file.
  func takeTurn(_ slot: Int, at instant: Int64, every interval: Int64) -> Int64? {
    // Creating a store creates the lock file; none is placed beside a file that is not a store.
    guard FileStatus(path: files.lock) != nil, let last = try? mark(slot) else { return nil }
    // A later mark comes from another boot. Nothing is taken from the mark itself, which may be any number.
    guard last > instant || last <= instant - interval else { return nil }
    setMark(slot, to: instant)
    return last
  }

  /// Writes a number to a slot of the file.
  func setMark(_ slot: Int, to value: Int64) {
    state.withLock { state in
      guard state.current.descriptor >= 0 else { return }
      var value = value
      // Without the mark, followers only wait a little longer.
      _ = pwrite(state.current.descriptor, &value, 8, off_t(8 + 8 * slot))
    }
  }

  private static func set(_ type: Int16, _ offset: Int64, on descriptor: Int32) -> Bool {
    var range = flock()
    range.l_type = type
    range.l_whence = Int16(SEEK_SET)
    range.l_start = off_t(offset)
    range.l_len = 1
    return fcntl(descriptor, F_OFD_SETLK, &range) == 0
  }

  private func open() throws(CacheStoreError) -> Int32 {
    try files.makeFolder()
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let descriptor = PlatformC.open(files.lock, flags, 0o600)
    guard descriptor >= 0 else {
      let number = errno
      throw CacheStoreError(
        StoreFiles.reason(ofMaking: number),
        "cannot open the lock file \(files.lock): \(Platform.describe(number))")
    }
    do throws(CacheStoreError) {
      try files.check(opened: FileStatus(descriptor: descriptor), "the lock file", files.lock)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }
}

extension Duration {
  /// The duration in nanoseconds, cut to what an `Int64` holds.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    guard seconds < 9_000_000_000 else { return 9_000_000_000_000_000_000 }
    return max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}

/// The right to refresh one request or to receive one body, held by at most one process at a time.
///
/// Release it after the commit. It is also released when the object is deallocated and when the process ends.
package final class Lease: Sendable {
  private let place: LockFile.Place
  private let file: Guarded<LockFile?>
  /// When a lease of this request last ended with a row before this one, in nanoseconds since boot; 0 where none has.
  package let rowStoredAt: Int64

  init(_ place: LockFile.Place, of file: LockFile) {
    self.place = place
    self.file = Guarded(file)
    var stored: Int64?
    if case .request(let hash) = place { stored = try? file.mark(LockFile.Slot.stored(hash)) }
    rowStoredAt = stored ?? 0
  }

  deinit { release() }

  /// Releases the lease; may be called on any thread, and more than once.
  package func release() {
    let file = file.withLock { file in
      defer { file = nil }
      return file
    }
    file?.unlock(place)
  }
}
