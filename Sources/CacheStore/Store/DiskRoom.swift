/// Makes room on a disk that has none left for the store.
///
/// Everything it does is done again, and said, by the work that failed for want of room: its own failures need no words.
struct DiskRoom: Sendable {
  let files: StoreFiles
  let lockFile: LockFile

  /// Makes room after a piece of work has failed for want of it, which can then be tried once more.
  ///
  /// For what is to be stored, the log is emptied, and what belongs to no row goes: replaced bodies and downloads that were
  /// cut off. What removes something gets the reserve besides.
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

  /// Gives free pages back to the file system, as many at a time as there is room to move others for, and empties the log.
  ///
  /// Pages at the file's end, as those of a body that was just arriving, are cut off without being moved.
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

  /// Writes the log back and empties it; with the reserve's room, where the database cannot become longer without.
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

  /// Deletes a chunk of what belongs to no row, inside a transaction; `false` where there is no such thing.
  func collectRemains(_ connection: Connection) throws(CacheStoreError) -> Bool {
    let released = try connection.value(.anyReleased)
    if released > 0 {
      try connection.collectChunk(of: released)
      return true
    }
    if let cutOff = try unheldUnfinishedBody(connection) {
      try connection.release(body: cutOff, at: 0)
      try connection.collectChunk(of: cutOff)
      return true
    }
    return false
  }

  /// The oldest body that is not whole and that no process is receiving.
  ///
  /// Whoever goes on with one takes its lease inside a writing transaction too: what no process holds now, none will hold
  /// before this transaction ends.
  private func unheldUnfinishedBody(_ connection: Connection) throws(CacheStoreError) -> Int64? {
    let statement = try connection.statement(.unfinishedBodies)
    defer { statement.reset() }
    while try statement.step() {
      let body = statement.integer(0)
      if try !lockFile.isLocked(.body(body)) { return body }
    }
    return nil
  }

  /// How long readers under way are waited for, in nanoseconds.
  private static let timeLimit: Int64 = 100_000_000
  /// Chunks that go for one write at most.
  private static let stepsAtOnce = 2_000
  private static let pagesAtOnce = 1_024
  private static let fewestPages = 16
  private static let roundsAtOnce = 256
}

extension Connection {
  /// Deletes a chunk of a body, and after the last of them the body; inside a transaction.
  func collectChunk(of body: Int64) throws(CacheStoreError) {
    let chunk = try statement(.deleteOneChunk)
    chunk.bind(1, body)
    try chunk.run()
    guard changes == 0 else { return }
    let statement = try statement(.deleteBody)
    statement.bind(1, body)
    try statement.run()
  }

  /// Marks a body as one that no row has any more.
  func release(body: Int64, at instant: Int64) throws(CacheStoreError) {
    let statement = try statement(.releaseBody)
    statement.bind(1, body)
    statement.bind(2, instant)
    try statement.run()
  }
}

extension CacheStoreError {
  /// Whether it is the disk that is full, not the store's own limit.
  var isDiskFull: Bool { reason == .full && sqliteCode != 0 }
}
