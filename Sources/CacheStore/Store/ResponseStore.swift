package import Dispatch
internal import Guards
package import PlatformFoundation

/// The stored responses, in one SQLite file that any number of processes share.
///
/// Lookups use their own connections and never wait for a write of this or another process. Writes run one after
/// another on the store's own queue. The synchronous forms (`…Now`) run on the calling thread and never wait: they
/// report `busy`, or return `nil`, where the store is in use. Nothing is opened, created or read before the first
/// call.
package final class ResponseStore: Sendable {
  /// What a lookup found.
  package struct Lookup: Sendable {
    /// The account's row; `nil` where the account has none, and so nothing stored.
    package var accountID: Int64?
    /// Every row of the key: all variants, good or not. Each has passed its checksums.
    package var rows: [StoredResponse]
    /// The number of rows that failed theirs; they are being removed.
    package var damaged: Int
    /// The state needed before an origin is asked, where the lookup included it.
    package var preflight: Preflight?

    /// Makes a result.
    package init(accountID: Int64? = nil, rows: [StoredResponse] = [], damaged: Int = 0) {
      self.accountID = accountID
      self.rows = rows
      self.damaged = damaged
    }
  }

  /// How the store was opened.
  package let configuration: StoreConfiguration
  let files: StoreFiles
  let lockFile: LockFile
  let pool: ReaderPool
  let writer: DatabaseWriter
  let rowWriter: RowWriter
  let eviction: Eviction
  let reads = DispatchQueue(label: "cachefetch.store.read")
  private let locks = DispatchQueue(label: "cachefetch.store.locks")
  let usage = Guarded(UsageBatch())
  private let observer = Guarded(VersionObserver())

  /// A store that opens its file at the first use; cannot fail and touches no file.
  package init(configuration: StoreConfiguration) {
    self.configuration = configuration
    files = StoreFiles(
      path: configuration.path, vfs: configuration.vfs, isUntrusted: configuration.isUntrusted,
      isForeign: configuration.isForeign)
    let lockFile = LockFile(files: files)
    self.lockFile = lockFile
    let readers = IdleReaders()
    let writer = DatabaseWriter(
      files: files, lockFile: lockFile, configuration: configuration, readers: readers)
    self.writer = writer
    rowWriter = RowWriter(files: files, configuration: configuration)
    eviction = Eviction(
      files: files, lockFile: lockFile, configuration: configuration, room: writer.room, rowWriter: rowWriter)
    pool = ReaderPool(
      files: files, idle: readers,
      hasNoLocks: { asks in asks ? lockFile.hasNoLocks() : lockFile.refusal != nil },
      reportDamage: { [weak writer] in writer?.checkForDamage() })
  }

  deinit { resumeForTesting() }

  // MARK: Reading

  /// Every row of a key, looked up on the calling thread without waiting.
  ///
  /// Throws `busy` where the file cannot be read without waiting; a store that does not exist yet has no rows.
  ///
  /// - Parameter responder: Where given, the state needed before it is asked is looked up too.
  package func lookupNow(
    _ key: RequestKey, beforeAsking responder: String? = nil
  ) throws(CacheStoreError) -> Lookup {
    try writer.checkRunning()
    return try lookup(key, beforeAsking: responder, waitingUntil: 0)
  }

  /// Every row of a key, looked up on the store's queue, waiting up to `busyTimeout` for other processes.
  package func lookup(_ key: RequestKey) async throws(CacheStoreError) -> Lookup {
    try await read { deadline throws(CacheStoreError) in try self.lookup(key, waitingUntil: deadline) }
  }

  private func lookup(
    _ key: RequestKey, beforeAsking responder: String? = nil, waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> Lookup {
    var damagedRows: [Int64] = []
    func lookupHeld(_ connection: Connection) throws(CacheStoreError) -> Lookup {
      var found = try lookupRows(connection)
      // A long body that was released in between may go at once: its row has another by now.
      var attempts = 3
      while attempts > 0, try !hold(&found.rows, connection) {
        found = try lookupRows(connection)
        attempts -= 1
      }
      if !found.rows.isEmpty, let oldest = try eviction.oldestReceived(connection) {
        found.rows.removeAll { !$0.isPinned && $0.receivedAt < oldest }
      }
      return found
    }
    func lookupRows(_ connection: Connection) throws(CacheStoreError) -> Lookup {
      damagedRows = []
      var found = Lookup()
      let statement = try connection.statement(responder == nil ? .lookUp : .lookUpAhead)
      defer { statement.reset() }
      if let responder {
        // Stays empty where the account has no row.
        found.preflight = Preflight()
        statement.bind(5, responder)
      }
      statement.bind(1, key.account)
      statement.bind(2, key.target)
      statement.bind(3, key.method)
      statement.bind(4, key.extra)
      let first = responder == nil ? 0 : Preflight.columnCount
      while try statement.step() {
        let (account, row) = RowCoder.identifiers(statement, from: first)
        found.accountID = account
        if responder != nil { found.preflight = Preflight(statement) }
        guard let row else { continue }
        if let read = try connection.row(statement, from: first, key) {
          found.rows.append(read)
        } else {
          found.damaged += 1
          damagedRows.append(row)
        }
      }
      return found
    }
    let found =
      try deadline == 0 ? readNow(lookupHeld) : pool.withConnection(waitingUntil: deadline, lookupHeld)
    for row in damagedRows { removeDamaged(row) }
    if let found { return found }
    // Where there is no store, that is known too.
    var nothing = Lookup()
    if responder != nil { nothing.preflight = Preflight() }
    return nothing
  }

  /// Holds the long bodies of rows.
  /// - Returns: `false` where one was released before that.
  private func hold(
    _ rows: inout [StoredResponse], _ connection: Connection
  ) throws(CacheStoreError) -> Bool {
    for index in rows.indices where !rows[index].body.isWhole {
      hold(&rows[index].body)
      guard try connection.first(.bodyOwner, [rows[index].body.id]) != nil else { return false }
    }
    return true
  }

  /// Keeps a long body from being collected for as long as its value lives. Where no lock can be had, its reader may
  /// meet `replaced`.
  func hold(_ body: inout StoredResponse.Body) {
    // None is made beside a file that nobody writes to.
    guard !body.isWhole, FileStatus(path: files.lock) != nil,
      (try? lockFile.tryLock(.reading(body.id))) == true
    else { return }
    body.hold = BodyHold(keeper: Lease(.reading(body.id), of: lockFile))
  }

  /// One chunk of a body, verified, read on the store's queue. The row of a body that is damaged is removed.
  ///
  /// - Parameters:
  ///   - number: From 0; a body of `length` bytes ends with the chunk that reaches it.
  ///   - bodyID: The body.
  ///   - accountID: The account that owns the body; without it, `signedOut` is reported as `replaced`.
  /// - Throws: `corrupt` where the chunk is damaged or missing, `replaced` where the body is gone, `signedOut` where
  ///   its account is gone.
  package func chunk(
    _ number: Int, of bodyID: Int64, accountID: Int64? = nil
  ) async throws(CacheStoreError) -> Data {
    try await read { deadline throws(CacheStoreError) in
      try self.chunk(number, of: bodyID, accountID: accountID, waitingUntil: deadline)
    }
  }

  /// Reads a chunk as ``chunk(_:of:accountID:)`` does, and calls `completion` on the reading queue.
  func readChunk(
    _ number: Int, of body: StoredResponse.Body,
    completion: @escaping @Sendable (Result<Data, CacheStoreError>) -> Void
  ) {
    read(
      { deadline throws(CacheStoreError) in
        try self.chunk(number, of: body.id, accountID: body.accountID, waitingUntil: deadline)
      }, completion: completion)
  }

  /// The whole of a body, its further chunks read at once on this thread; `nil` where that would have to wait, or where
  /// they are gone or damaged.
  package func wholeNow(_ body: StoredResponse.Body) -> Data? {
    if body.isWhole { return body.firstChunk }
    var bytes = body.firstChunk
    bytes.reserveCapacity(Int(body.length))
    var number = 1
    while bytes.count < body.length {
      guard let chunk = try? chunk(number, of: body.id, accountID: body.accountID, waitingUntil: 0) else {
        return nil
      }
      bytes += chunk
      number += 1
    }
    return bytes
  }

  private func chunk(
    _ number: Int, of bodyID: Int64, accountID: Int64?, waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> Data {
    var isDamaged = false
    defer { if isDamaged { removeRow(ofDamaged: number, of: bodyID) } }
    let data = try pool.withConnection(waitingUntil: deadline) {
      (connection) throws(CacheStoreError) -> Data in
      guard let chunk = try ChunkReading.read(number, of: bodyID, keepingBytes: true, connection) else {
        let error = try self.missing(bodyID, accountID, connection)
        isDamaged = error.reason == .corrupt
        throw error
      }
      guard chunk.checksum != nil else {
        isDamaged = true
        throw CacheStoreError(
          .corrupt, "a stored body in \(files.database) is damaged", hint: "fetch it again")
      }
      return chunk.bytes
    }
    guard let data else { throw CacheStoreError(.replaced, "the store \(files.database) is gone") }
    return data
  }

  /// The error for a missing chunk.
  private func missing(
    _ bodyID: Int64, _ accountID: Int64?, _ connection: Connection
  ) throws(CacheStoreError) -> CacheStoreError {
    let owner = try connection.statement(.bodyOwner)
    defer { owner.reset() }
    owner.bind(1, bodyID)
    // A released body is deleted chunk by chunk, and counts as gone from its first missing chunk.
    if try owner.step() {
      return CacheStoreError(
        .corrupt, "a part of a stored body in \(files.database) is missing", hint: "fetch it again")
    }
    if let accountID, try isRevoked(accountID, connection) {
      return CacheStoreError(.signedOut, "the account was signed out")
    }
    return CacheStoreError(.replaced, "the stored body was replaced meanwhile")
  }

  /// Removes a row whose checksum failed, after the lookup that found it; verifies it again first.
  private func removeDamaged(_ id: Int64) {
    removeRow { (connection) throws(CacheStoreError) in
      guard let found = try connection.wholeRow(id), !found.isSound else { return nil }
      return found
    }
  }

  /// Removes the row whose body has a damaged chunk, or lacks it, after the read that found it; verifies that chunk
  /// again first. If the row stayed, a 304 would confirm it again and again.
  private func removeRow(ofDamaged number: Int, of body: Int64) {
    removeRow { (connection) throws(CacheStoreError) in
      guard try ChunkReading.read(number, of: body, keepingBytes: false, connection)?.checksum == nil,
        let id = try connection.first(Query.rowOfBodyText, [body])
      else { return nil }
      return try connection.wholeRow(id)
    }
  }

  /// Removes the row that is still damaged, if one is, with its body.
  private func removeRow(
    _ damaged: @escaping @Sendable (Connection) throws(CacheStoreError) -> RowCoder.Found?
  ) {
    guard !configuration.isReadOnly else { return }
    writer.perform { [self] (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in
        guard let found = try damaged(connection) else { return false }
        let row = found.row
        try rowWriter.deleteRow(row.id, withBody: row.body.id, length: row.body.length, connection)
        return true
      }
    } completion: { [configuration, files] removal in
      // Whoever read it has reported it; where the removal fails, the next read finds it again.
      if case .success(true) = removal { configuration.onEvent?(.removedDamagedRow(path: files.database)) }
    }
  }

  /// A number that changes whenever another connection, of this or another process, has committed a change.
  ///
  /// Takes some microseconds and runs on the calling thread. Only its difference from the previous number has a
  /// meaning.
  package func dataVersionNow() throws(CacheStoreError) -> Int64 {
    try writer.checkRunning()
    return try observer.withLock { (observer: inout VersionObserver) throws(CacheStoreError) in
      try observer.version(of: files)
    }
  }

  /// Whether nothing has been committed between two versions. Never `true` without a store (the lower half is 0): one
  /// may have existed in between.
  package static func isUnchanged(from version: Int64?, to next: Int64) -> Bool {
    version == next && Int32(truncatingIfNeeded: next) != 0
  }

  // MARK: Leases

  /// Takes the lease for refreshing the request of that hash, without waiting.
  ///
  /// - Returns: `nil` where another process, or another holder in this one, holds it.
  package func tryLease(_ hash: UInt64) throws(CacheStoreError) -> Lease? {
    try lease(.request(hash))
  }

  /// Takes the right to answer other processes for this store, without waiting; `nil` where another process has it.
  package func tryServing() throws(CacheStoreError) -> Lease? { try lease(.serving) }

  /// Whether there is no store at the path, and no repaired one waiting to be renamed to it.
  package var isMissing: Bool { files.isMissing }

  /// Why there is no store and none can be made: where a store is, it can at least be read. `nil` if there is one, if
  /// one can be made, or if none is wanted.
  package var obstacle: CacheStoreError? {
    guard !configuration.isReadOnly, files.isMissing, let obstacle = files.obstacle() else { return nil }
    return CacheStoreError(.readOnly, "\(obstacle): nothing is kept")
  }

  /// Whether a reading connection is open, so that a lookup need not open one.
  package var isReadyToLookUp: Bool { pool.isOpen }

  /// Whether the lock file is open, so that ``tryLease(_:)`` need not open it.
  package var isReadyToLease: Bool { lockFile.isOpen }

  /// Takes a lease as ``tryLease(_:)`` does, on its own queue, where a lookup that hangs does not delay it.
  package func openLease(_ hash: UInt64) async throws(CacheStoreError) -> Lease? {
    try await awaited { done in
      locks.async { done(Result { () throws(CacheStoreError) in try self.tryLease(hash) }) }
    }
  }

  func lease(_ place: LockFile.Place) throws(CacheStoreError) -> Lease? {
    guard !configuration.isReadOnly else {
      throw CacheStoreError(
        .readOnly, "the store \(files.database) was opened for reading only", hint: "open it for writing")
    }
    // Opening the store first ensures that no lock file is placed beside a file that is not a store.
    if FileStatus(path: files.lock) == nil { _ = try pool.withConnection(waitingUntil: 0) { _ in } }
    return try lockFile.tryLock(place) ? Lease(place, of: lockFile) : nil
  }

  // MARK: Closing and testing

  /// Writes the counts kept in memory, waits for the work under way and closes the file; later calls throw `closed`.
  package func close() async {
    if !leaveUsage() { await flushUsage() }
    // The connection cuts the log when it is closed. Law 9: where it cannot be opened, the next process does.
    if takesLeftLog { _ = try? await writer.perform { (_) throws(CacheStoreError) in } }
    await writer.close()
    pool.close()
    observer.withLock { $0 = VersionObserver(isClosed: true) }
  }

  /// Does what must precede the end of the process, on the calling thread and only where the store is idle: appends
  /// the counts to the usage journal and truncates a long log. The system frees the rest sooner than `close()` does.
  /// - Returns: `false` where the caller must use ``close()``.
  package func closeNow() -> Bool {
    guard (try? writer.checkRunning()) != nil else { return false }
    return leaveUsage() && writer.closeNow(opening: takesLeftLog)
  }

  /// Whether a process that does not write is to cut the log: it is long, as where its writer was killed, and every
  /// start reads it. Once a minute, since a log that is in use stays long.
  private var takesLeftLog: Bool {
    guard !configuration.isReadOnly, !writer.isOpen, FileStatus(path: files.log)?.bytes ?? 0 > LogPolicy.long
    else { return false }
    return lockFile.takeTurn(
      LockFile.Slot.log, at: configuration.bootNow(), every: Self.maintenanceInterval) != nil
  }

  /// Suspends the store as a slow disk would: synchronous forms find it busy, and the queues' work waits.
  package func suspendForTesting() {
    if writer.suspend() { reads.suspend() }
  }

  /// Resumes a store that ``suspendForTesting()`` suspended.
  package func resumeForTesting() {
    if writer.resume() { reads.resume() }
  }

  /// The queues, each before those that it may give something to do.
  package var queuesForTesting: [DispatchQueue] { [locks, reads, writer.queue] }

  /// How many locks are held: leases, and bodies that are received or read.
  package var locksForTesting: Int { lockFile.heldCount }

  /// Runs a read on the reading queue.
  func read<Result: Sendable>(
    _ work: @escaping @Sendable (_ deadline: Int64) throws(CacheStoreError) -> Result
  ) async throws(CacheStoreError) -> Result {
    try await awaited { read(work, completion: $0) }
  }

  /// Runs a query on the reading queue.
  /// - Returns: `nil` where there is no store.
  func query<Result: Sendable>(
    _ work: @escaping @Sendable (Connection) throws(CacheStoreError) -> Result
  ) async throws(CacheStoreError) -> Result? {
    try await read { deadline throws(CacheStoreError) in
      try self.pool.withConnection(waitingUntil: deadline, work)
    }
  }

  /// Runs a read on the reading queue, and calls `completion` there.
  ///
  /// Where SQLite finds the file damaged, the read waits for the repair that the pool has begun, and runs once more: it
  /// then returns what the repair carried over.
  private func read<Result: Sendable>(
    _ work: @escaping @Sendable (_ deadline: Int64) throws(CacheStoreError) -> Result,
    completion: @escaping @Sendable (Swift.Result<Result, CacheStoreError>) -> Void
  ) {
    @Sendable func attempt() -> Swift.Result<Result, CacheStoreError> {
      let deadline = Platform.monotonicNanoseconds() + configuration.busyTimeout.wholeNanoseconds
      return Swift.Result { () throws(CacheStoreError) in try work(deadline) }
    }
    reads.async {
      let first = attempt()
      guard case .failure(let error) = first, error.isDamage, !self.configuration.isReadOnly else {
        return completion(first)
      }
      self.writer.afterQueuedWork { self.reads.async { completion(attempt()) } }
    }
  }
}
