internal import CSQLite
internal import PlatformC

/// Decides whether a file that failed is a damaged store, one of an earlier revision, a sound one, or not a store.
enum DamageCheck {
  enum Condition: Sendable, Equatable { case sound, damaged, earlier(isOfRelease: Bool), notOurs }

  /// - Parameter deadline: Monotonic nanoseconds until which to wait for other processes' locks.
  static func condition(of files: StoreFiles, waitingUntil deadline: Int64) throws(CacheStoreError)
    -> Condition
  {
    do throws(CacheStoreError) {
      let connection = try Connection(path: files.resolved(), named: files.database, for: .reading, files.vfs)
      connection.waiting.deadline = deadline
      guard try Schema.content(of: connection) == .store else { return .sound }
      if files.isUntrusted { try connection.distrust() }
      return try isSound(connection) ? .sound : .damaged
    } catch {
      switch error.reason {
      case .corrupt: return .damaged
      case .earlierSchema(let isOfRelease): return .earlier(isOfRelease: isOfRelease)
      case .foreignFile: return try looksLikeOurs(files) ? .damaged : .notOurs
      default: throw error
      }
    }
  }

  /// Whether `integrity_check` passes and every statement finds its tables and columns.
  static func isSound(_ connection: Connection) throws(CacheStoreError) -> Bool {
    for query in Query.allCases { _ = try connection.statement(query) }
    return try problems(connection, limit: 1).isEmpty
  }

  /// Whether `integrity_check` finds nothing in a table and its indexes.
  static func isSound(_ table: String, _ connection: Connection) throws(CacheStoreError) -> Bool {
    try connection.withStatement("PRAGMA integrity_check(\(table))") { (statement) throws(CacheStoreError) in
      try statement.step() && statement.text(0) == "ok"
    }
  }

  /// The problems that `integrity_check` reports.
  static func problems(_ connection: Connection, limit: Int) throws(CacheStoreError) -> [String] {
    try connection.withStatement("PRAGMA integrity_check(\(limit))") { (statement) throws(CacheStoreError) in
      var found: [String] = []
      while try statement.step() { found.append(statement.text(0)) }
      if found == ["ok"] { return [] }
      // Some results hold several lines below a heading.
      let lines = found.flatMap { $0.split(separator: "\n") }.filter { !$0.hasPrefix("***") }.map(String.init)
      return lines.isEmpty ? found : Array(lines.prefix(limit))
    }
  }

  /// Whether a file that SQLite cannot read, or whose header numbers are not a store's, was once a store: its
  /// `application_id` is in the header or its tables are in the first pages, and a lock file is beside it.
  private static func looksLikeOurs(_ files: StoreFiles) throws(CacheStoreError) -> Bool {
    guard FileStatus(path: files.lock)?.kind == .file else { return false }
    // Closing a descriptor drops this process's locks on the file, which does no harm here: the file cannot be used
    // anyway.
    let descriptor = open(files.database, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = read(descriptor, &bytes, bytes.count)
    return count > 0 && bytes[..<count].withUnsafeBytes(Schema.isMentioned)
  }
}
