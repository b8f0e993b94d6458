internal import PlatformC

/// `STORE.uses`: what programs that ran for a moment have counted, until somebody who writes anyway takes it into the
/// tables.
///
/// A commit of its own costs such a program more than all it did before; a line appended costs some microseconds.
/// Whoever appends holds the file shared; whoever takes it renames it first, so that nobody waits, and then has it once
/// nobody holds it any more. Killed between its commit and the file's removal, it is taken once more.
struct UsageJournal {
  /// What became of an append.
  enum Appended {
    /// It is in the file, which may have become long by now.
    case done(isLong: Bool)
    /// The file is not one to write to.
    case refused
  }

  /// The length from which on whoever appends has the file stored.
  static let longest: Int64 = 64 << 10

  let files: StoreFiles

  /// Whether something waits.
  var isThere: Bool {
    FileStatus(path: files.usageJournal) != nil || FileStatus(path: files.takenUsageJournal) != nil
  }

  /// Whether somebody should take it in by now.
  var isLong: Bool { FileStatus(path: files.usageJournal)?.bytes ?? 0 > Self.longest }

  /// Appends what `lines` gives once the file is held; `nil` appends nothing.
  func append(_ lines: () throws(CacheStoreError) -> [UInt8]?) throws(CacheStoreError) -> Appended {
    // Between opening and holding it somebody may rename it; not many times in a row.
    for _ in 0..<3 {
      let descriptor = open(
        files.usageJournal, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return .refused }
      defer { close(descriptor) }
      guard let status = FileStatus(descriptor: descriptor), status.kind == .file, status.owner == geteuid(),
        status.names <= 1
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

  /// Takes what is in the file out of reach of those who append, and reads it. Called by one process at a time, inside
  /// its writing transaction.
  ///
  /// - Parameter isLast: Take it even where somebody holds it, as after a sign-out: what they append is lost.
  /// - Returns: `nil` where there is nothing, or somebody still appends.
  func take(isLast: Bool = false) -> [UInt8]? {
    if FileStatus(path: files.takenUsageJournal) == nil,
      rename(files.usageJournal, files.takenUsageJournal) != 0
    {
      return nil
    }
    let descriptor = open(files.takenUsageJournal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard (try? files.check(opened: FileStatus(descriptor: descriptor), "", files.takenUsageJournal)) != nil,
      flock(descriptor, LOCK_EX | LOCK_NB) == 0 || isLast
    else { return nil }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while bytes.count < Self.longest * 16 {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return bytes
  }

  /// Removes what was taken, once it is committed.
  func removeTaken() { unlink(files.takenUsageJournal) }

  /// Removes all that waits.
  func removeAll() {
    unlink(files.usageJournal)
    unlink(files.takenUsageJournal)
  }
}
