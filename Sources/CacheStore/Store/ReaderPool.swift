internal import Synchronization

/// The connections that look-ups use, opened when first needed and kept for the next.
final class ReaderPool: Sendable {
  /// Idle connections kept; more are opened where more threads look at once.
  private static let kept = 4

  /// Hands a connection from one thread to the next.
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
  ///   - hasNoLocks: Whether the file system has no locks; as far as is known, or as it is found where it `asks`.
  ///   - reportDamage: Called when SQLite finds the file damaged.
  init(
    files: StoreFiles, hasNoLocks: @escaping @Sendable (_ asks: Bool) -> Bool = { _ in false },
    reportDamage: @escaping @Sendable () -> Void
  ) {
    self.files = files
    self.hasNoLocks = hasNoLocks
    self.reportDamage = reportDamage
  }

  /// Runs work with a connection to the store as it is now.
  ///
  /// - Parameter deadline: Monotonic nanoseconds until which another process's lock is waited for; 0: not at all.
  /// - Returns: `nil` where there is no store yet: no file, or an empty one. None is made.
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
    // A connection that failed is not used again: what is wrong may be with it.
    let result = try body(connection)
    if connection.purpose.isShared { giveBack(connection) }
    return result
  }

  private func open(waitingUntil deadline: Int64) throws(CacheStoreError) -> Connection? {
    // Without locks nobody writes, and SQLite would say that somebody has one.
    if hasNoLocks(false) { return try Connection.openAsItStands(files, waitingUntil: deadline) }
    do throws(CacheStoreError) {
      return try Connection.openToRead(files, waitingUntil: deadline == 0 || hasNoLocks(true) ? 0 : deadline)
    } catch {
      guard error.reason == .busy, hasNoLocks(true) else { throw error }
      return try Connection.openAsItStands(files, waitingUntil: deadline)
    }
  }

  /// Whether a connection waits for its next use.
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
        // Another file of the same name: the one this connection has open was set aside or removed.
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
