internal import CSQLite

/// How long the log may become, in bytes.
enum LogPolicy {
  /// Above it the log is written back when there is time, since a longer one delays the next process's start.
  static let long: Int64 = 256 << 10
  /// Above it even a large download stops until the log begins anew.
  static let veryLong: Int64 = 8 << 20
  /// What is added to the log between one pass and the next that write it back meanwhile: each pass syncs the log and the
  /// database.
  static let step: Int64 = 1 << 20
}

extension Database {
  /// The log's length after this connection's latest commit, in bytes.
  var logBytes: Int64 { Int64(logFrames) * pageBytes }
  /// Whether the log is longer than even a large download may make it.
  var isLogVeryLong: Bool { logBytes > restartBytes }

  /// Whether so much has been added to the log that it should be written back meanwhile; the caller is taken to do so.
  func takeCheckpointTurn() -> Bool {
    if logBytes < checkpointedBytes { checkpointedBytes = 0 }
    guard logBytes >= checkpointedBytes + LogPolicy.step else { return false }
    checkpointedBytes = logBytes
    return true
  }

  /// Begins the log anew.
  ///
  /// Among many busy processes there is always one in the middle of a transaction, and a checkpoint that waits for
  /// nobody never lets the log begin anew; this one does. Our own transactions are short, but on a busy machine their
  /// processes may have to wait for a processor: the longer the log, the longer it waits for them. For a reader that
  /// never ends it waits seldom.
  func restartLog() throws(CacheStoreError) {
    let deadline = waiting.deadline
    let timeLimit: Int64 =
      logBytes < 10 << 20 ? 100_000_000 : logBytes < 12 << 20 ? 1_000_000_000 : 3_000_000_000
    waiting.deadline = Platform.monotonicNanoseconds() + timeLimit
    defer { waiting.deadline = deadline }
    // While another process writes back, which on a slow disk is most of the time, SQLite says "busy" without waiting.
    while try !checkpoint(.restarting) {
      guard Platform.monotonicNanoseconds() < waiting.deadline else {
        restartBytes = logBytes + logBytes / 4
        return
      }
      Platform.rest(nanoseconds: 500_000)
    }
    restartBytes = LogPolicy.veryLong
  }

  /// How the log is written back into the database.
  enum Checkpoint {
    /// As far as others' transactions allow, waiting for none.
    case passive
    /// All of it, so that the next commit begins the log anew; waits for transactions under way.
    case restarting
    /// All of it, and the log is emptied.
    case truncating
  }

  /// Writes the log back into the database.
  /// - Returns: Whether everything was written back.
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

  /// Goes back to the rollback journal. The settings that keep the log at close would keep it here too, with what is
  /// only in it.
  func leaveLog() throws(CacheStoreError) {
    _ = cachefetch_db_config_flag(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    setKeepsLog(false)
    try execute("PRAGMA journal_mode = DELETE")
  }

  /// Whether the index of a log can be shared with other processes here.
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
