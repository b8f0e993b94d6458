#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif
internal import Synchronization

/// `STORE.lock`: an empty file whose byte ranges stand for things one process at a time may do.
///
/// The locks belong to the open file description, so that two stores in one process exclude each other as two
/// processes do, and the kernel lets go of them when the process ends, however it ends. None of them ever blocks.
final class LockFile: Sendable {
  /// What a byte of the file stands for.
  enum Place: Hashable, Sendable {
    /// Making the database, and setting a damaged one aside.
    case file
    /// A body that is being received.
    case body(Int64)
    /// A request whose refresh is under way, by the hash of its key.
    case request(UInt64)

    var offset: Int64 {
      switch self {
      case .file: 0
      case .body(let id): 1 << 61 | (id & (1 << 61 - 1))
      case .request(let hash): 1 << 62 | Int64(hash >> 2)
      }
    }
  }

  private struct State {
    var descriptor: Int32 = -1
    /// Offsets held through this description; the kernel would grant them to us again.
    var held: Set<Int64> = []
  }

  private let files: StoreFiles
  private let state = Mutex(State())

  init(files: StoreFiles) { self.files = files }

  deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }

  /// Takes the lock; `false` where another process, or another user of this object, holds it.
  func tryLock(_ place: Place) throws(CacheStoreError) -> Bool {
    let offset = place.offset
    return try state.withLock { (state: inout State) throws(CacheStoreError) -> Bool in
      if state.descriptor < 0 { state.descriptor = try open() }
      guard !state.held.contains(offset) else { return false }
      guard Self.set(Int16(F_WRLCK), offset, on: state.descriptor) else {
        let number = errno
        guard number == EAGAIN || number == EACCES else {
          throw CacheStoreError(.other, "cannot lock \(files.lock): \(Platform.describe(number))")
        }
        return false
      }
      state.held.insert(offset)
      return true
    }
  }

  /// Takes the lock, trying again every millisecond until the time is over; not for the calling thread.
  func lock(_ place: Place, within timeout: Duration) throws(CacheStoreError) {
    let deadline = Platform.monotonicNanoseconds() + timeout.wholeNanoseconds
    while try !tryLock(place) {
      guard Platform.monotonicNanoseconds() < deadline else {
        throw CacheStoreError(.busy, "another process is at work on the store \(files.database)")
      }
      Platform.rest(nanoseconds: 1_000_000)
    }
  }

  /// Lets go of the lock.
  func unlock(_ place: Place) {
    let offset = place.offset
    state.withLock { state in
      guard state.held.remove(offset) != nil else { return }
      _ = Self.set(Int16(F_UNLCK), offset, on: state.descriptor)
    }
  }

  /// Whether anybody, this process included, holds the lock; takes nothing.
  func isLocked(_ place: Place) throws(CacheStoreError) -> Bool {
    let offset = place.offset
    return try state.withLock { (state: inout State) throws(CacheStoreError) -> Bool in
      if state.held.contains(offset) { return true }
      if state.descriptor < 0 { state.descriptor = try open() }
      var range = flock()
      range.l_type = Int16(F_WRLCK)
      range.l_whence = Int16(SEEK_SET)
      range.l_start = off_t(offset)
      range.l_len = 1
      guard fcntl(state.descriptor, openDescriptionGetLock, &range) == 0 else { return false }
      return range.l_type != Int16(F_UNLCK)
    }
  }

  /// The number last written to a slot of the file, 0 where there is none. A hint: nothing depends on it being there.
  func mark(_ slot: Int) throws(CacheStoreError) -> Int64 {
    try state.withLock { (state: inout State) throws(CacheStoreError) -> Int64 in
      if state.descriptor < 0 { state.descriptor = try open() }
      var value: Int64 = 0
      let count = pread(state.descriptor, &value, 8, off_t(8 + 8 * slot))
      return count == 8 ? value : 0
    }
  }

  /// Writes a number to a slot of the file.
  func setMark(_ slot: Int, to value: Int64) {
    state.withLock { state in
      guard state.descriptor >= 0 else { return }
      var value = value
      // Lost marks cost followers a moment, no more.
      _ = pwrite(state.descriptor, &value, 8, off_t(8 + 8 * slot))
    }
  }

  private static func set(_ type: Int16, _ offset: Int64, on descriptor: Int32) -> Bool {
    var range = flock()
    range.l_type = type
    range.l_whence = Int16(SEEK_SET)
    range.l_start = off_t(offset)
    range.l_len = 1
    return fcntl(descriptor, openDescriptionSetLock, &range) == 0
  }

  private func open() throws(CacheStoreError) -> Int32 {
    try files.makeFolder()
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    #if canImport(Darwin)
      let descriptor = Darwin.open(files.lock, flags, 0o600)
    #else
      let descriptor = Glibc.open(files.lock, flags, 0o600)
    #endif
    guard descriptor >= 0 else {
      let number = errno
      let reason: CacheStoreError.Reason =
        switch number {
        case EROFS, EACCES, EPERM: .readOnly
        case ENOSPC, EDQUOT: .full
        default: .cannotOpen
        }
      throw CacheStoreError(reason, "cannot open the lock file \(files.lock): \(Platform.describe(number))")
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

/// `F_OFD_SETLK` and `F_OFD_GETLK`, which the C library's module does not export.
#if canImport(Darwin)
  private let openDescriptionSetLock: Int32 = 90
  private let openDescriptionGetLock: Int32 = 92
#else
  private let openDescriptionSetLock: Int32 = 37
  private let openDescriptionGetLock: Int32 = 36
#endif

extension Duration {
  /// The duration in nanoseconds, cut to what an `Int64` holds.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    guard seconds < 9_000_000_000 else { return 9_000_000_000_000_000_000 }
    return max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}
