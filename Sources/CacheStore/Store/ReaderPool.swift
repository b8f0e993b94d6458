internal import Synchronization

/// The connections for look-ups, opened when first needed and reused.
final class ReaderPool: Sendable {
  /// The most idle connections kept; more are open while more threads read at once.
  private static let kept = 4

  /// Lets a connection pass from one thread to the next.
  // @unchecked: a connection is either in the pool, where the lock guards it, or with the one thread that took it out.
  private struct Idle: @unchecked Sendable { let connection: Connection }

  private struct State {
    var idle: [Idle] = []
    var isClosed = false
  }

  private let files: StoreFiles
  private let state = Mutex(State())
  private let hasNoLocks: @Sendable (_ asks: Bool) -> Bool
  private let reportDamage: @Sendable () -> Void

  /// - Parameters:
  ///   - hasNoLocks: Whether the file system has no locks, as far as is known; with `asks`, it is tested.
  ///   - reportDamage: Called when SQLite finds the file damaged.
  init(
    files: StoreFiles, hasNoLocks: @escaping @Sendable (_ asks: Bool) -> Bool = { _ in false },
    reportDamage: @escaping @Sendable () -> Void
  ) {
    self.files = files
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
      return try use(waitingUntil: deadline, body)
    } catch {
      if error.isDamage { reportDamage() }
      throw error
    }
  }

  private func use<Result>(
    waitingUntil deadline: Int64, _ body: (Connection) throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result? {
    guard let status = try files.checkedStatus() else {
      state.withLock { $0.idle.removeAll() }
      return nil
    }
    var idle = try take(status.identity)
    if idle == nil { idle = try open(waitingUntil: deadline) }
    guard let connection = idle else { return nil }
    connection.begin(waitingUntil: deadline)
    // A connection that failed is not reused: it may itself be at fault.
    let result = try body(connection)
    if connection.purpose.isShared { giveBack(connection) }
    return result
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
  var isOpen: Bool { state.withLock { !$0.idle.isEmpty } }

  func close() {
    state.withLock { state in
      state.isClosed = true
      state.idle.removeAll()
    }
  }

  private func take(_ identity: FileIdentity) throws(CacheStoreError) -> Connection? {
    try state.withLock { (state: inout State) throws(CacheStoreError) -> Idle? in
      guard !state.isClosed else { throw CacheStoreError(.closed, "the store was closed") }
      while let last = state.idle.popLast() {
        // A different identity: the file this connection has open was quarantined or removed.
        if last.connection.identity == identity { return last }
      }
      return nil
    }?.connection
  }

  private func giveBack(_ connection: Connection) {
    let idle = Idle(connection: connection)
    state.withLock { state in
      if !state.isClosed, state.idle.count < Self.kept { state.idle.append(idle) }
    }
  }
}
