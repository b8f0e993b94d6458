/// Frees disk space for the store on a full disk.
///
/// Its own failures are ignored: the failed work runs again afterwards and reports what is still wrong.
struct DiskRoom: Sendable {
  let files: StoreFiles
  let lockFile: LockFile

  /// Frees space after a piece of work failed with a full disk, so that the caller can retry it once.
  ///
  /// Empties the log. Work that removes something also gets the reserve; work that stores something gets the space of
  /// replaced bodies and cut-off downloads, which belong to no row.
  func make(isStoring: Bool, _ connection: Connection) {
    let deadline = connection.waiting.deadline
    defer { connection.waiting.deadline = deadline }
    connection.waiting.deadline = min(deadline, Platform.monotonicNanoseconds() + Self.timeLimit)
    if !isStoring { Reserve(files: files).release() }
    emptyLog(connection)
    guard isStoring else { return }
    var steps = 0
    while steps < Self.stepsAtOnce, (try? collectOne(connection)) == true { steps += 1 }
    giveBack(connection)
  }

  /// Returns free pages to the file system, as many per transaction as the disk has room to move, and empties the
  /// log.
  ///
  /// Free pages at the end of the file, such as those of a body just received, are truncated without being moved.
  func giveBack(_ connection: Connection) {
    var pages = Self.pagesAtOnce
    var rounds = 0
    var free = Int64.max
    emptyLog(connection)
    while rounds < Self.roundsAtOnce, let left = try? connection.value(.freePages), left > 0, left < free {
      rounds += 1
      do throws(CacheStoreError) {
        try connection.transaction { () throws(CacheStoreError) in
          try connection.execute("PRAGMA incremental_vacuum(\(pages))")
        }
        free = left
      } catch {
        guard error.isDiskFull, pages > Self.fewestPages else { break }
        pages /= 4
      }
      emptyLog(connection)
    }
    Reserve(files: files).make()
  }

  /// Checkpoints and truncates the log; releases the reserve first where the database cannot grow otherwise.
  private func emptyLog(_ connection: Connection) {
    do throws(CacheStoreError) {
      try connection.checkpoint(.truncating)
    } catch {
      guard error.isDiskFull else { return }
      Reserve(files: files).release()
      _ = try? connection.checkpoint(.truncating)
    }
  }

  private func collectOne(_ connection: Connection) throws(CacheStoreError) -> Bool {
    try connection.transaction { () throws(CacheStoreError) in try collectRemains(connection) }
  }

  /// Deletes one chunk of a body that belongs to no row, even of one that is read, inside a transaction; `false` where
  /// there is none.
  func collectRemains(_ connection: Connection) throws(CacheStoreError) -> Bool {
    if let released = try releasedBody(connection) {
      try connection.collectChunk(of: released.id)
      return true
    }
    if let cutOff = try unheldUnfinishedBody(connection) {
      try connection.release(body: cutOff, at: 0)
      try connection.collectChunk(of: cutOff)
      return true
    }
    return false
  }

  /// Deletes one chunk of a released body that nobody reads; `false` where there is none, or the transaction has
  /// released one itself. Who has looked a body up locks it, and looks again: it was released by an earlier transaction
  /// then, which is seen, or this one sees the lock.
  func collectReleased(_ connection: Connection) throws(CacheStoreError) -> Bool {
    guard !connection.hasReleased, let released = try releasedBody(connection), !released.isRead else {
      return false
    }
    try connection.collectChunk(of: released.id)
    return true
  }

  /// The released body to be collected first: one that nobody reads, where there is one.
  private func releasedBody(_ connection: Connection) throws(CacheStoreError) -> (id: Int64, isRead: Bool)? {
    guard connection.mayHaveReleased else { return nil }
    let statement = try connection.statement(.releasedBodies)
    defer { statement.reset() }
    var first: Int64?
    while try statement.step() {
      let body = statement.integer(0)
      // One that was removed goes at once.
      let isRead = try statement.integer(1) == 0 ? false : lockFile.isLocked(.reading(body))
      if !isRead { return (body, false) }
      first = first ?? body
    }
    guard let first else {
      connection.noteNothingReleased()
      return nil
    }
    return (first, true)
  }

  /// The oldest unfinished body that no process is receiving.
  ///
  /// A process that resumes a download takes its lease inside a writing transaction too, so a body without a lease
  /// stays without one until this transaction ends.
  private func unheldUnfinishedBody(_ connection: Connection) throws(CacheStoreError) -> Int64? {
    let statement = try connection.statement(.unfinishedBodies)
    defer { statement.reset() }
    while try statement.step() {
      let body = statement.integer(0)
      if try !lockFile.isLocked(.body(body)) { return body }
    }
    return nil
  }

  /// How long to wait for current readers, in nanoseconds.
  private static let timeLimit: Int64 = 100_000_000
  /// The most chunks deleted for one write.
  private static let stepsAtOnce = 2_000
  private static let pagesAtOnce = 1_024
  private static let fewestPages = 16
  private static let roundsAtOnce = 256
}

extension Connection {
  /// Deletes one chunk of a body, and the body after its last chunk; inside a transaction.
  func collectChunk(of body: Int64) throws(CacheStoreError) {
    let chunk = try statement(.deleteOneChunk)
    chunk.bind(1, body)
    try chunk.run()
    guard changes == 0 else { return }
    let statement = try statement(.deleteBody)
    statement.bind(1, body)
    try statement.run()
  }
}

extension CacheStoreError {
  /// Whether the disk is full, rather than the store's own limit reached.
  var isDiskFull: Bool { reason == .full && sqliteCode != 0 }
}
