internal import Dispatch
internal import Guards
internal import Synchronization

/// The one connection that writes, and the queue its work runs on.
///
/// Work runs on the queue, one piece after another; a look may run on a calling thread that finds the connection idle. The
/// `slot` lock guards the connection; only the queue waits for it, and only for another thread's look.
final class DatabaseWriter: Sendable {
  // @unchecked: the connection is only ever used inside `slot`'s lock.
  private struct Slot: @unchecked Sendable {
    var connection: Connection?
    var isClosed = false
    /// Lookups since the latest piece of work; see ``readNow(_:)``.
    var lookups = 0
    /// Whether the latest failed piece of work was storing something.
    var wasStoring = false
    /// What the application is told once the lock is released.
    var events: [StoreEvent] = []
  }

  let queue = DispatchQueue(label: "cachefetch.store.write")
  private let files: StoreFiles
  private let lockFile: LockFile
  private let configuration: StoreConfiguration
  private let slot = GuardedWork(Slot())
  /// Pieces of work waiting or running on the queue.
  private let queued = Atomic(0)
  /// Whether a test has suspended the store.
  private let isSuspended = Atomic(false)
  let group = WriteGroup()
  private let opening: StoreOpener
  let checkpointer: Checkpointer
  let room: DiskRoom
  let readers: IdleReaders

  init(
    files: StoreFiles, lockFile: LockFile, configuration: StoreConfiguration, readers: IdleReaders
  ) {
    self.readers = readers
    self.files = files
    self.lockFile = lockFile
    self.configuration = configuration
    opening = StoreOpener(files: files, lockFile: lockFile, configuration: configuration)
    checkpointer = Checkpointer(opening)
    room = DiskRoom(files: files, lockFile: lockFile)
  }

  /// Runs work on the queue. The time limit for other processes' locks starts now and includes the queue's earlier
  /// work.
  /// - Parameter timeLimit: That limit, where it differs from `busyTimeout`.
  func perform<Result: Sendable>(
    within timeLimit: Duration? = nil,
    _ work: @escaping @Sendable (Connection) throws(CacheStoreError) -> Result
  ) async throws(CacheStoreError) -> Result {
    try await awaited { perform(within: timeLimit, work, completion: $0) }
  }

  /// Runs work on the queue, in one transaction.
  func change<Result: Sendable>(
    isStoring: Bool = false, _ work: @escaping @Sendable (Connection) throws(CacheStoreError) -> Result
  ) async throws(CacheStoreError) -> Result {
    try await perform { (connection) throws(CacheStoreError) in
      try connection.transaction(isStoring: isStoring) { () throws(CacheStoreError) in try work(connection) }
    }
  }

  /// Runs work on the queue, and calls `completion` there before the next work.
  func perform<Result: Sendable>(
    within timeLimit: Duration? = nil,
    _ work: @escaping @Sendable (Connection) throws(CacheStoreError) -> Result,
    completion: @escaping @Sendable (Swift.Result<Result, CacheStoreError>) -> Void
  ) {
    let deadline =
      Platform.monotonicNanoseconds() + (timeLimit ?? configuration.busyTimeout).wholeNanoseconds
    enqueue {
      completion(self.attempt(waitingUntil: deadline, work))
      self.keepLogShort()
    }
  }

  /// Runs work on the queue whose result no caller awaits; the work itself reports what it must.
  func submit(_ work: @escaping @Sendable (Connection) throws(CacheStoreError) -> Void) {
    perform(work) { _ in }
  }

  /// Runs work that needs no connection, on the write queue after everything that is queued now.
  func afterQueuedWork(_ work: @escaping @Sendable () -> Void) { enqueue(work) }

  private func enqueue(_ work: @escaping @Sendable () -> Void) {
    queued.wrappingAdd(1, ordering: .relaxed)
    queue.async {
      work()
      self.queued.wrappingSubtract(1, ordering: .relaxed)
    }
  }

  /// Changes a row in the next transaction of the ``WriteGroup``, which it shares with what waits then, and calls
  /// `completion` on the write queue once that is committed or has failed. Where one of the changes fails, each gets its
  /// own transaction instead.
  /// - Parameter soon: Calls its argument at the end of the caller's turn, when the other changes of that turn have
  ///   been added.
  func write<Result: Sendable>(
    bytes: Int, soon: (@escaping @Sendable () -> Void) -> Void = { $0() },
    _ work: @escaping @Sendable (Connection) throws(CacheStoreError) -> Result,
    completion: @escaping @Sendable (Swift.Result<Result, CacheStoreError>) -> Void
  ) {
    let deadline = Platform.monotonicNanoseconds() + configuration.busyTimeout.wholeNanoseconds
    let write = GroupedWork(bytes: bytes, deadline: deadline, work: work, completion: completion)
    if group.add(write) { soon { self.enqueue { self.writeGroup() } } }
  }

  private func writeGroup() {
    let (writes, isMore) = group.take()
    if isMore { enqueue { self.writeGroup() } }
    defer { keepLogShort() }
    guard let error = commit(writes) else { return writes.forEach { $0.end(nil) } }
    guard writes.count > 1 else { return writes.forEach { $0.end(error) } }
    for write in writes { write.end(commit([write])) }
  }

  /// Commits writes in one transaction.
  /// - Returns: The error where the commit failed.
  private func commit(_ writes: [any GroupedWrite]) -> CacheStoreError? {
    let deadline = writes.map(\.deadline).min() ?? 0
    let outcome = attempt(waitingUntil: deadline) { (connection) throws(CacheStoreError) in
      try connection.transaction(isStoring: true) { () throws(CacheStoreError) in
        for write in writes { try write.run(connection) }
      }
    }
    guard case .failure(let error) = outcome else { return nil }
    return error
  }

  /// Reads on the calling thread through the write connection, whose cache holds the pages it has just written; a
  /// reading connection would read them from the log, seven or eight for a lookup. Allows only a few reads after each
  /// write, so that a program that reads much more than it writes does not delay its writes. SQLite discourages the
  /// alternative, a shared page cache.
  ///
  /// - Returns: `nil` where the connection is in use or not open, the file was replaced, or an error occurs: the
  ///   caller then uses a reading connection, which reports the error.
  func readNow<Result>(_ lookup: (Connection) throws(CacheStoreError) -> Result) -> Result? {
    slot.withLockIfAvailable { slot -> Result? in
      guard slot.lookups < Self.lookupsAfterWrite, let connection = slot.connection else { return nil }
      slot.lookups += 1
      guard connection.isCurrent else { return nil }
      connection.begin(waitingUntil: 0)
      return try? lookup(connection)
    } ?? nil
  }

  private static let lookupsAfterWrite = 4

  /// Starts a background checkpoint, or restarts the log after a write that made it very long. A failure changes
  /// nothing about the committed work.
  private func keepLogShort() {
    slot.withLock { slot in
      guard let connection = slot.connection else { return }
      if connection.isLogVeryLong {
        // While the checkpointer runs, `restartLog` would get SQLITE_BUSY.
        checkpointer.wait()
        // The next write reports what is wrong.
        _ = try? connection.restartLog()
      } else if connection.takeCheckpointTurn() {
        checkpointer.begin()
      }
    }
  }

  /// Truncates a long log before the process ends, where no work is queued; the system frees everything else.
  /// - Parameter opens: Whether a connection is opened for it.
  /// - Returns: `false` where work is queued or running: ``close()`` waits for it.
  func closeNow(opening opens: Bool = false) -> Bool {
    guard queued.load(ordering: .relaxed) == 0, group.count == 0, !checkpointer.isBusy else { return false }
    let isDone: Bool? = slot.withLockIfAvailable { slot in
      if opens, slot.connection == nil { slot.connection = try? opening.openExisting(waitingUntil: 0) }
      if let connection = slot.connection { cutLongLog(connection) }
      return true
    }
    return isDone ?? false
  }

  /// Whether the connection is open and idle.
  var isOpen: Bool { slot.withLockIfAvailable { $0.connection != nil } ?? false }

  /// Closes the connection once the work under way is done; later work fails with `closed`.
  func close() async {
    if closeUnopened() { return }
    await withUnsafeContinuation { continuation in
      enqueue {
        self.slot.withLock { slot in
          self.checkpointer.close()
          if let connection = slot.connection { self.cutLongLog(connection) }
          slot = Slot(connection: nil, isClosed: true)
        }
        continuation.resume()
      }
    }
  }

  /// Closes a store that was never opened, without a thread.
  private func closeUnopened() -> Bool {
    guard queued.load(ordering: .relaxed) == 0 else { return false }
    let isDone: Bool? = slot.withLockIfAvailable { slot in
      guard slot.connection == nil else { return false }
      slot.isClosed = true
      return true
    }
    return isDone ?? false
  }

  /// Truncates a log that would delay the next process's start. A checkpoint is not enough: the first process to open
  /// the store reads every frame in the log, including those already checkpointed.
  private func cutLongLog(_ connection: Connection) {
    guard FileStatus(path: files.log)?.bytes ?? 0 > LogPolicy.long else { return }
    connection.waiting.deadline = 0
    // Where another process uses the log, that process truncates it when it closes.
    _ = try? connection.checkpoint(.truncating)
  }

  private func attempt<Result: Sendable>(
    waitingUntil deadline: Int64, _ work: (Connection) throws(CacheStoreError) -> Result
  ) -> Swift.Result<Result, CacheStoreError> {
    withSlot { slot in
      let isOpening = slot.connection == nil
      var outcome = run(&slot, waitingUntil: deadline, work)
      guard case .failure(let error) = outcome else { return outcome }
      // Where this or another process replaced the file, also while it was opened here, run the same work again on the
      // new file.
      var isReplaced = error.isMoved || isOpening && error.isNotThere
      if error.isDiskFull, makeRoom(&slot, waitingUntil: deadline) {
        return run(&slot, waitingUntil: deadline, work)
      }
      if error.isDamage {
        switch recover(&slot, waitingUntil: deadline) {
        // One of an earlier revision that is sound now was brought up to date, or begun anew, by another process.
        case .success(let other): isReplaced = other || error.isOfEarlierRevision
        case .failure(let failure): outcome = .failure(failure)
        }
      }
      if isReplaced {
        slot.connection = nil
        // A log that was removed lives on in the index that processes share, for as long as a connection has that open.
        checkpointer.close()
        readers.removeAll()
        outcome = run(&slot, waitingUntil: deadline, work)
        // Another process has removed the file between the recovery, or the replacement, and this opening.
        if case .failure(let error) = outcome, error.isNotThere {
          outcome = run(&slot, waitingUntil: deadline, work)
        }
      }
      return outcome
    }
  }

  /// Frees space after work that failed with a full disk.
  /// - Returns: Whether a connection is open to run the work again.
  private func makeRoom(_ slot: inout Slot, waitingUntil deadline: Int64) -> Bool {
    let isStoring = slot.wasStoring
    // The failure closed the connection. Opening another may need space, which the reserve then provides.
    var connection = try? opening.open(waitingUntil: deadline)
    if connection == nil {
      Reserve(files: files).release()
      connection = try? opening.open(waitingUntil: deadline)
    }
    guard let connection else { return false }
    slot.connection = connection
    checkpointer.wait()
    room.make(isStoring: isStoring, connection)
    return true
  }

  private func run<Result: Sendable>(
    _ slot: inout Slot, waitingUntil deadline: Int64, _ work: (Connection) throws(CacheStoreError) -> Result
  ) -> Swift.Result<Result, CacheStoreError> {
    do throws(CacheStoreError) {
      guard !slot.isClosed else { throw CacheStoreError(.closed, "the store was closed") }
      if let refusal = lockFile.refusal { throw refusal }
      let connection: Connection
      if let open = slot.connection {
        connection = open
      } else {
        connection = try opening.open(waitingUntil: deadline)
        slot.connection = connection
      }
      connection.begin(waitingUntil: deadline)
      slot.lookups = 0
      return .success(try work(connection))
    } catch {
      slot.wasStoring = slot.connection?.isStoring ?? false
      // The connection itself may be at fault, so the next piece of work opens its own.
      if error.reason != .busy, error.reason != .signedOut, error.reason != .missing { slot.connection = nil }
      return .failure(error)
    }
  }

  /// Replaces a damaged file; see ``Quarantine``.
  private func recover(_ slot: inout Slot, waitingUntil deadline: Int64)
    -> Swift.Result<Bool, CacheStoreError>
  {
    slot.connection = nil
    guard !configuration.isReadOnly else { return .success(false) }
    checkpointer.close()
    let recovery = Quarantine(files: files, lockFile: lockFile, configuration: configuration)
    // Reading a whole file takes longer than `busyTimeout` allows for; each wait for a lock still ends.
    return Swift.Result { () throws(CacheStoreError) in
      try recovery.run(waitingUntil: max(deadline, Platform.monotonicNanoseconds() + 1_000_000_000)) {
        slot.events.append($0)
      }
    }
  }

  /// Runs work with the connection, and tells the application afterwards what happened: its closure may call the store.
  private func withSlot<Result: Sendable>(_ work: (inout Slot) -> Result) -> Result {
    let (result, events) = slot.withLock { slot in
      let result = work(&slot)
      defer { slot.events = [] }
      return (result, slot.events)
    }
    for event in events { configuration.onEvent?(event) }
    return result
  }

  /// Checks the file for damage and replaces it where it is damaged, when a person asked for a repair.
  /// - Returns: Whether the file was replaced.
  func repair() async throws(CacheStoreError) -> Bool {
    let deadline = Platform.monotonicNanoseconds() + configuration.busyTimeout.wholeNanoseconds
    return try await awaited { done in
      enqueue { done(self.withSlot { self.recover(&$0, waitingUntil: deadline) }) }
    }
  }

  /// Checks the file for damage after a lookup that reported it, and replaces it where it is damaged.
  func checkForDamage() {
    enqueue {
      let deadline = Platform.monotonicNanoseconds() + self.configuration.busyTimeout.wholeNanoseconds
      // The next use of the store meets the same error and reports it.
      self.withSlot { slot in
        guard !slot.isClosed else { return }
        _ = self.recover(&slot, waitingUntil: deadline)
      }
    }
  }

  // MARK: Testing

  /// Suspends the queue as a slow disk would; `false` where it is suspended already.
  func suspend() -> Bool {
    guard !isSuspended.exchange(true, ordering: .sequentiallyConsistent) else { return false }
    queue.suspend()
    return true
  }

  /// Resumes a suspended queue; `false` where it is not suspended.
  func resume() -> Bool {
    guard isSuspended.exchange(false, ordering: .sequentiallyConsistent) else { return false }
    queue.resume()
    return true
  }

  /// Throws `busy` while the store is suspended: what runs on the calling thread waits for nothing.
  func checkRunning() throws(CacheStoreError) {
    guard isSuspended.load(ordering: .relaxed) else { return }
    throw CacheStoreError(.busy, "the store \(files.database) is held back by a test")
  }
}

/// Waits for the result that `begin` passes on.
func awaited<Value: Sendable>(
  _ begin: (@escaping @Sendable (Result<Value, CacheStoreError>) -> Void) -> Void
) async throws(CacheStoreError) -> Value {
  let result = await withUnsafeContinuation { continuation in begin { continuation.resume(returning: $0) } }
  return try result.get()
}
