internal import CSQLite
internal import PlatformC

/// Limits of the write-ahead log's length, in bytes.
enum LogPolicy {
  /// Above this, maintenance checkpoints the log, since a long one delays the next process's start.
  static let long: Int64 = 256 << 10
  /// Above this, even a large download waits until the log restarts.
  static let veryLong: Int64 = 8 << 20
  /// The log's growth between two background checkpoints, each of which syncs the log and the database.
  static let step: Int64 = 1 << 20
}

extension Database {
  /// The log's length after this connection's latest commit, in bytes.
  var logBytes: Int64 { Int64(logFrames) * pageBytes }
  /// Whether the log has reached the length at which it must restart.
  var isLogVeryLong: Bool { logBytes > restartBytes }

  /// Whether a background checkpoint is due; `true` also records that the caller starts it.
  func takeCheckpointTurn() -> Bool {
    if logBytes < checkpointedBytes { checkpointedBytes = 0 }
    guard logBytes >= checkpointedBytes + LogPolicy.step else { return false }
    checkpointedBytes = logBytes
    return true
  }

  /// Restarts the log.
  ///
  /// With many busy processes, one is always inside a transaction, and a passive checkpoint never lets the log
  /// restart; this one waits for them. The store's transactions are short, but on a busy machine their processes may
  /// have to wait for a CPU: the longer the log, the longer this waits. After a timeout it waits again only once the
  /// log has grown by a quarter, so that a reader that never ends delays few writes.
  func restartLog() throws(CacheStoreError) {
    let deadline = waiting.deadline
    let timeLimit: Int64 =
      logBytes < 10 << 20 ? 100_000_000 : logBytes < 12 << 20 ? 1_000_000_000 : 3_000_000_000
    waiting.deadline = Platform.monotonicNanoseconds() + timeLimit
    defer { waiting.deadline = deadline }
    // While another process runs a checkpoint, which on a slow disk is most of the time, SQLite returns SQLITE_BUSY
    // without waiting.
    while try !checkpoint(.restarting) {
      guard Platform.monotonicNanoseconds() < waiting.deadline else {
        restartBytes = logBytes + logBytes / 4
        return
      }
      Platform.rest(nanoseconds: 500_000)
    }
    restartBytes = LogPolicy.veryLong
  }

  /// The kinds of checkpoint the store uses.
  enum Checkpoint {
    /// As far as other transactions allow, waiting for none.
    case passive
    /// The whole log, so that the next commit restarts it; waits for current transactions.
    case restarting
    /// The whole log, which is then truncated.
    case truncating
  }

  /// Checkpoints the log.
  /// - Returns: Whether the whole log was checkpointed.
  @discardableResult func checkpoint(_ kind: Checkpoint = .passive) throws(CacheStoreError) -> Bool {
    var frames: Int32 = 0
    var written: Int32 = 0
    let mode =
      switch kind {
      case .passive: SQLITE_CHECKPOINT_PASSIVE
      case .restarting: SQLITE_CHECKPOINT_RESTART
      case .truncating: SQLITE_CHECKPOINT_TRUNCATE
      }
    let code = sqlite3_wal_checkpoint_v2(handle, "main", mode, &frames, &written)
    if code & 0xFF == SQLITE_BUSY { return false }
    guard code == SQLITE_OK else { throw failure(code, sql: nil) }
    if frames == written { logFrames = 0 }
    return frames == written
  }

  /// Changes to the rollback journal, for a file whose content is nowhere else: no log is kept at close either.
  func leaveLog() throws(CacheStoreError) {
    _ = cachefetch_db_config_flag(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    try execute("PRAGMA journal_mode = DELETE")
  }

  /// Whether processes can share the log's index on this file system.
  var canShareMemory: Bool {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap
    else { return false }
    var memory: UnsafeMutableRawPointer?
    defer { _ = methods.pointee.xShmUnmap(file, 0) }
    return map(file, 0, 32 << 10, 1, &memory) == SQLITE_OK
  }
}

/// Asks the system to begin writing the log to the disk, without waiting for it.
///
/// The sync before a checkpoint then finds most of the log on the disk, written while the next chunk arrived. This is
/// a hint: no operation depends on it, and systems other than Linux get none.
final class LogWriteback {
  /// The log, opened beside SQLite, which locks no byte of it, so that closing this descriptor drops no lock.
  /// Negative where there is no log.
  private let file: Int32

  init(log path: String) { file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }

  deinit { if file >= 0 { close(file) } }

  func begin() {
    if file >= 0 { beginWriting(file) }
  }
}
