internal import Guards

/// The connections for lookups, opened when first needed and reused.
final class ReaderPool: Sendable {
  private let files: StoreFiles
  private let idle: IdleReaders
  private let hasNoLocks: @Sendable (_ asks: Bool) -> Bool
  private let reportDamage: @Sendable () -> Void

  /// - Parameters:
  ///   - hasNoLocks: Whether the file system has no locks, as far as is known; with `asks`, it is tested.
  ///   - reportDamage: Called when SQLite finds the file damaged.
  init(
    files: StoreFiles, idle: IdleReaders = IdleReaders(),
    hasNoLocks: @escaping @Sendable (_ asks: Bool) -> Bool = { _ in false },
    reportDamage: @escaping @Sendable () -> Void
  ) {
    self.files = files
    self.idle = idle
    self.hasNoLocks = hasNoLocks
    self.reportDamage = reportDamage
  }

  /// Runs work with a connection to the file that has the store's name now.
  ///
  /// - Parameter deadline: Monotonic nanoseconds until which to wait for another process's lock; 0: not at all.
  /// - Returns: `nil` where there is no store yet: no file, or an empty one. Creates none.
  func withConnection<Result>(
    waitingUntil deadline: Int64, _ body: (Connection) throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result? {
    do throws(CacheStoreError) {
      return try useCurrent(waitingUntil: deadline, body)
    } catch {
      if error.isDamage { reportDamage() }
      throw error
    }
  }

  /// Uses the file that has the store's name now, once more where a repair, or who removed it, replaced it while it was
  /// being opened.
  private func useCurrent<Result>(
    waitingUntil deadline: Int64, _ body: (Connection) throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result? {
    do throws(CacheStoreError) {
      return try use(waitingUntil: deadline, body)
    } catch {
      guard error.isMoved else { throw error }
      return try use(waitingUntil: deadline, body)
    }
  }

  private func use<Result>(
    waitingUntil deadline: Int64, _ body: (Connection) throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result? {
    let status: FileStatus
    switch try files.presence() {
    case .there(let found): status = found
    case .betweenRenames: throw .betweenRenames(path: files.database)
    case .missing:
      idle.removeAll()
      return nil
    }
    var found = try idle.take(status.identity)
    if found == nil { found = try open(status.identity, waitingUntil: deadline) }
    guard let connection = found else { return nil }
    connection.begin(waitingUntil: deadline)
    let result: Result
    do throws(CacheStoreError) {
      result = try body(connection)
    } catch {
      // The connection may be at fault, or the files that the idle ones have open too.
      idle.removeAll()
      throw error
    }
    if connection.purpose.isShared { idle.add(connection) }
    return result
  }

  private func open(
    _ identity: FileIdentity, waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> Connection? {
    do throws(CacheStoreError) {
      return try open(waitingUntil: deadline)
    } catch {
      // Whoever begins a store anew removes it first.
      guard error.reason == .cannotOpen, FileStatus(path: files.database)?.identity != identity else {
        throw error
      }
      throw CacheStoreError.sqlite(CacheStoreError.movedCode, path: files.database)
    }
  }

  private func open(waitingUntil deadline: Int64) throws(CacheStoreError) -> Connection? {
    // On a file system without locks no process writes, but SQLite would report SQLITE_BUSY.
    if hasNoLocks(false) { return try Connection.openAsItStands(files, waitingUntil: deadline) }
    do throws(CacheStoreError) {
      return try Connection.openToRead(files, waitingUntil: deadline == 0 || hasNoLocks(true) ? 0 : deadline)
    } catch {
      guard error.reason == .busy, hasNoLocks(true) else { throw error }
      return try Connection.openAsItStands(files, waitingUntil: deadline)
    }
  }

  /// Whether an idle connection is open.
  var isOpen: Bool { !idle.isEmpty }

  func close() { idle.close() }
}

/// The connections of a ``ReaderPool`` that wait for their next use.
final class IdleReaders: Sendable {
  /// How many are kept; more are opened where more threads read at once.
  private static let limit = 4

  // @unchecked: a connection is either in here, where the lock guards it, or with the one thread that took it out.
  private struct Reader: @unchecked Sendable { let connection: Connection }

  private struct State {
    var readers: [Reader] = []
    var isClosed = false
  }

  private let state = Guarded(State())

  var isEmpty: Bool { state.withLock { $0.readers.isEmpty } }

  /// Takes a connection to the file of that identity out; `nil` where there is none.
  /// - Throws: `closed` after ``close()``.
  func take(_ identity: FileIdentity) throws(CacheStoreError) -> Connection? {
    try state.withLock { (state: inout State) throws(CacheStoreError) -> Reader? in
      guard !state.isClosed else { throw CacheStoreError(.closed, "the store was closed") }
      while let last = state.readers.popLast() {
        // A connection to a file that was quarantined or removed is closed.
        if last.connection.identity == identity { return last }
      }
      return nil
    }?.connection
  }

  /// Keeps a connection for its next use, where there is room for it.
  func add(_ connection: Connection) {
    let reader = Reader(connection: connection)
    state.withLock { state in
      if !state.isClosed, state.readers.count < Self.limit { state.readers.append(reader) }
    }
  }

  /// Closes the idle connections.
  func removeAll() { state.withLock { $0.readers.removeAll() } }

  /// Closes the idle connections, and every connection returned later.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.readers.removeAll()
    }
  }
}
