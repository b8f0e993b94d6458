internal import PlatformC

/// `STORE.uses`: the counts of short-lived programs, until another process that writes anyway stores them in the
/// tables.
///
/// A commit would cost such a program more than all its other work; appending a line takes some microseconds. A
/// process that appends holds a shared lock on the file. A process that stores it first renames it, so that no other
/// has to wait, and then takes the exclusive lock, which it keeps until the file is removed. If it is killed between
/// its commit and that, the lines are stored twice.
struct UsageJournal {
  /// The result of an append.
  enum Appended {
    /// The lines are in the file; `isLong` tells whether it has become long.
    case done(isLong: Bool)
    /// The file must not be written.
    case refused
  }

  /// The length in bytes above which the appending process stores the file.
  static let longest: Int64 = 64 << 10

  let files: StoreFiles

  /// Whether there are lines to be stored.
  var isThere: Bool {
    FileStatus(path: files.usageJournal) != nil || FileStatus(path: files.takenUsageJournal) != nil
  }

  /// Whether the file is so long that it should be stored now.
  var isLong: Bool { FileStatus(path: files.usageJournal)?.bytes ?? 0 > Self.longest }

  /// Appends the result of `lines`, called with the file locked; `nil` appends nothing.
  func append(_ lines: () throws(CacheStoreError) -> [UInt8]?) throws(CacheStoreError) -> Appended {
    // Another process may rename the file between opening and locking it, but not many times in a row.
    for _ in 0..<3 {
      let descriptor = open(
        files.usageJournal, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return .refused }
      defer { Self.unlock(descriptor) }
      guard let status = FileStatus(descriptor: descriptor), status.kind == .file, status.owner == geteuid(),
        !status.hasOtherNames
      else { return .refused }
      guard flock(descriptor, LOCK_SH | LOCK_NB) == 0,
        FileStatus(path: files.usageJournal)?.identity == status.identity
      else { continue }
      guard let lines = try lines() else { return .refused }
      guard write(descriptor, lines, lines.count) == lines.count else { return .refused }
      return .done(isLong: status.bytes > Self.longest)
    }
    return .refused
  }

  /// Renames the file, so that no process appends to it any more, and reads it. Called by one process at a time,
  /// inside its writing transaction.
  ///
  /// - Parameter isLast: Read it even while another process holds the lock, as after a sign-out; lines appended later
  ///   are lost.
  /// - Returns: `nil` where there is no file, another process still appends, or one has stored it and not yet removed
  ///   it.
  func take(isLast: Bool = false) -> Taken? {
    if FileStatus(path: files.takenUsageJournal) == nil,
      rename(files.usageJournal, files.takenUsageJournal) != 0
    {
      return nil
    }
    let descriptor = open(files.takenUsageJournal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    let taken = Taken(descriptor: descriptor, path: files.takenUsageJournal)
    let status = FileStatus(descriptor: descriptor)
    guard (try? files.check(opened: status, "", taken.path)) != nil,
      flock(descriptor, LOCK_EX | LOCK_NB) == 0 || isLast,
      // Another process may have stored and removed it between opening and locking it.
      FileStatus(path: taken.path)?.identity == status?.identity
    else { return nil }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while bytes.count < Self.longest * 16 {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    taken.bytes = bytes
    return taken
  }

  /// The file that is being stored, locked for as long as this exists.
  final class Taken {
    /// Its lines.
    fileprivate(set) var bytes: [UInt8] = []
    fileprivate let path: String
    private let descriptor: Int32

    fileprivate init(descriptor: Int32, path: String) { (self.descriptor, self.path) = (descriptor, path) }

    deinit { UsageJournal.unlock(descriptor) }

    /// Removes it, after the commit.
    func remove() { unlink(path) }
  }

  /// Ends the lock and closes the file. A process that another thread is starting has a copy of the descriptor until
  /// it runs its program: a close alone would leave the file locked for so long.
  private static func unlock(_ descriptor: Int32) {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Removes both files.
  func removeAll() {
    unlink(files.usageJournal)
    unlink(files.takenUsageJournal)
  }
}
