internal import Synchronization

/// Keeps the store within its limits: finds what exceeds them, and evicts what is used least.
///
/// What takes a connection runs inside a transaction of its caller.
final class Eviction: Sendable {
  private let files: StoreFiles
  private let lockFile: LockFile
  private let configuration: StoreConfiguration
  private let room: DiskRoom
  private let rowWriter: RowWriter
  /// The limit of bytes as last read from the file; until then the configuration's.
  private let knownBytes: Atomic<Int64>
  private let evicted = Atomic(false)

  init(
    files: StoreFiles, lockFile: LockFile, configuration: StoreConfiguration, room: DiskRoom,
    rowWriter: RowWriter
  ) {
    self.files = files
    self.lockFile = lockFile
    self.configuration = configuration
    self.room = room
    self.rowWriter = rowWriter
    knownBytes = Atomic(configuration.maximumBytes)
  }

  // MARK: Limits

  /// The limits in force; inside a writing transaction.
  func limits(_ connection: Connection) throws(CacheStoreError) -> StoreLimits {
    let found = try connection.ownLimits().over(StoreLimits(configuration))
    noteBytes(of: found)
    return found
  }

  /// Notes the limit of bytes that is in force.
  func noteBytes(of limits: StoreLimits) {
    knownBytes.store(limits.maximumBytes ?? configuration.maximumBytes, ordering: .relaxed)
  }

  /// The largest body that is stored, by the limits as last read.
  var largestBody: Int64 { knownBytes.load(ordering: .relaxed) / 2 }

  /// A limit of the store to propose where the present one is too small.
  private var twiceTheLimit: Int64 { Self.twice(knownBytes.load(ordering: .relaxed)) }

  private static func twice(_ bytes: Int64) -> Int64 { bytes > .max / 2 ? .max : max(0, bytes) * 2 }

  /// A limit that the bytes fit into, to propose.
  private func limit(holding bytes: Int64) -> Int64 {
    var limit = max(2, twiceTheLimit)
    while limit < bytes, limit < .max { limit = Self.twice(limit) }
    return limit
  }

  /// One that what is in use now fits into, the new row or the beginning of its body included.
  private func limit(holdingAllOf connection: Connection) throws(CacheStoreError) -> Int64 {
    limit(holding: try connection.value(.pageCount) * configuration.pageBytes)
  }

  /// For a body, or the beginning of one, that would take more than half the store.
  func tooLarge(_ bytes: Int64) -> CacheStoreError {
    CacheStoreError(
      .full, "the body is larger than half the limit of the store \(files.database)",
      remedy: .largerStore(limit(holding: Self.twice(bytes))))
  }

  /// The instant before which a row that is not pinned was received too long ago to be delivered; `nil` where no age
  /// is too high. Outside a transaction.
  func oldestReceived(_ connection: Connection) throws(CacheStoreError) -> Int64? {
    let age = try connection.limitsNow().over(StoreLimits(configuration)).maximumAge
    return age.map { configuration.now() - $0.wholeNanoseconds / 1_000_000 }
  }

  /// Whether a row was removed to make room for another.
  var hasEvicted: Bool { evicted.load(ordering: .relaxed) }

  /// Counts one that is removed, inside the transaction that removes it.
  func noteEvicted(_ connection: Connection) throws(CacheStoreError) {
    evicted.store(true, ordering: .relaxed)
    try connection.add(event: StoreStatistics.evicted, 1)
  }

  // MARK: Eviction

  /// Deletes released bodies that nobody reads, more of them than a write adds, at the beginning of its transaction.
  ///
  /// - Parameter givesBack: Whether their pages are returned to the file system, unless they are few: the next chunks of
  ///   a body that arrives would take them again.
  func collectReleased(givesBack: Bool, _ connection: Connection) throws(CacheStoreError) {
    var chunks: Int64 = 0
    while chunks < Self.chunksAtOnce, try room.collectReleased(connection) { chunks += 1 }
    guard givesBack, chunks > 0,
      try Self.hasPagesToGiveBack(
        free: connection.value(.freePages), of: connection.value(.pageCount))
    else { return }
    let pages = chunks * (Int64(configuration.chunkBytes) / configuration.pageBytes + 1)
    try connection.execute("PRAGMA incremental_vacuum(\(pages))")
  }

  /// Whether free pages are returned to the file system: 256 are kept for the next rows, but at most half of a small
  /// file.
  static func hasPagesToGiveBack(free: Int64, of pages: Int64) -> Bool { free > 256 || free * 2 > pages }

  /// The most chunks that one write collects.
  private static let chunksAtOnce = 4

  /// Keeps the file within its limit, inside the transaction that made it grow, so that no process ever leaves it
  /// larger: it evicts as much as was added, least recently used first. Where the file is far larger because the
  /// limit was lowered, it evicts only a part, so that no write takes long; maintenance does the rest in steps. For
  /// the pages of bodies that are being received it evicts no row; see ``arrivingPages(_:)``.
  ///
  /// - Parameter row: The row being written, which is not evicted; 0 for none.
  /// - Throws: `full` where only pinned rows and bodies being received are left.
  func keepWithinLimit(writing row: Int64, _ connection: Connection) throws(CacheStoreError) {
    guard try mayBeOverLimit(connection), try connection.value(.pageCount) > limitPages(connection) else {
      return
    }
    let arriving = try arrivingPages(connection)
    var steps = 0
    evicting: while try isOverLimit(connection), steps < Self.stepsAtOnce {
      steps += 1
      switch try evictSome(sparing: row, besides: arriving, connection) {
      case .done: continue
      case .unneeded: break evicting
      case .impossible:
        throw CacheStoreError(
          .full,
          "the store \(files.database) is full, and what is in it is pinned or being received",
          remedy: .removePinned(orAllow: .bytes(try limit(holdingAllOf: connection)))
        )
      }
    }
    let extra = try connection.value(.pageCount) - limitPages(connection)
    if extra > 0 { try connection.execute("PRAGMA incremental_vacuum(\(min(extra, Self.pagesAtOnce)))") }
  }

  /// Frees space for a body that is being received and may still be refused: only released and cut-off bodies are
  /// collected; no row is evicted before the body belongs to one (law 5). Until then the file may exceed its limit by
  /// the largest body.
  ///
  /// - Throws: `full` where the bodies being received exceed that together.
  func keepRoomForArriving(_ connection: Connection) throws(CacheStoreError) {
    guard try mayBeOverLimit(connection), try connection.value(.pageCount) > limitPages(connection) else {
      return
    }
    var steps = 0
    while try isOverLimit(connection), steps < Self.stepsAtOnce, try room.collectRemains(connection) {
      steps += 1
    }
    let used = try connection.value(.pageCount) - connection.value(.freePages)
    guard try used <= limitPages(connection) / 2 * 3 else {
      throw CacheStoreError(
        .full, "the bodies that are being received do not fit into the store \(files.database) together",
        remedy: .largerStore(try limit(holdingAllOf: connection)))
    }
  }

  /// Whether the file, its log and what a transaction can add may exceed the limit: only then are the pages counted,
  /// by a PRAGMA that SQLite prepares anew each time.
  private func mayBeOverLimit(_ connection: Connection) throws(CacheStoreError) -> Bool {
    let log = FileStatus(path: connection.logPath)?.bytes ?? 0
    let most = connection.fileBytes + log + Int64(configuration.chunkBytes) + Self.bytesAtOnce
    return try most > limitPages(connection) * configuration.pageBytes
  }

  /// More than a transaction of many writes can add besides a chunk.
  private static let bytesAtOnce: Int64 = 32 << 20

  /// The most rows, or chunks of a body, that one write evicts for their size: enough for the largest chunk where
  /// rows are small, in some ten milliseconds.
  private static let stepsAtOnce = 2_000
  /// The most pages that one write returns to the file system: many more than it can have added.
  private static let pagesAtOnce: Int64 = 1_024

  /// Keeps the number of rows within its limit, inside the transaction that added one. Where there are many more
  /// because the limit was lowered, it evicts only some; maintenance removes the rest.
  ///
  /// - Throws: `full` where only pinned rows are left.
  func keepWithinRowLimit(writing row: Int64, _ connection: Connection) throws(CacheStoreError) {
    guard let most = try limits(connection).maximumRows else { return }
    let surplus = try connection.rowCount(most: Int64(most)) - Int64(most)
    for _ in 0..<max(0, min(surplus, Self.rowsAtOnce)) where try !evictRow(sparing: row, connection) {
      throw CacheStoreError(
        .full,
        "the store \(files.database) may hold \(Counted.text(most, "entry", "entries")), and that many are pinned",
        remedy: .removePinned(
          orAllow: .rows(Int(clamping: max(Self.twice(Int64(most)), Int64(most) + surplus)))))
    }
  }

  /// The most rows that one write evicts for their number.
  private static let rowsAtOnce: Int64 = 16

  /// Whether the pages in use, besides those of arriving bodies, are more than the limit allows.
  func isOverLimit(
    _ connection: Connection, besides arriving: Int64 = 0
  ) throws(CacheStoreError) -> Bool {
    try connection.value(.pageCount) - connection.value(.freePages) > limitPages(connection) + arriving
  }

  /// The pages by which the limit may be exceeded because of bodies that are being received: no row is evicted for
  /// them, by whatever write (law 5). Counts at least the pages that they take, and no more than half the limit, which
  /// is what ``keepRoomForArriving(_:)`` lets them exceed it by. 0 without counting where the limit is kept.
  ///
  /// No other transaction makes or ends one meanwhile, and eviction leaves them alone: the number holds for the rest of
  /// the transaction.
  func arrivingPages(_ connection: Connection) throws(CacheStoreError) -> Int64 {
    guard try isOverLimit(connection) else { return 0 }
    let statement = try connection.statement(.arrivingBodies)
    defer { statement.reset() }
    // The first four bytes of an overflow page are the number of the next one, not the chunk's.
    statement.bind(1, connection.pageBytes - 4)
    var pages: Int64 = 0
    while try statement.step() {
      if try lockFile.isLocked(.body(statement.integer(0))) { pages += statement.integer(1) }
    }
    return min(pages, try limitPages(connection) / 2)
  }

  /// What came of one step of an eviction.
  enum EvictionStep {
    case done
    /// Only arriving bodies exceed the limit, and no row is evicted for them.
    case unneeded
    /// Nothing is left that may be evicted.
    case impossible
  }

  /// Frees some space: released bodies first, then cut-off downloads, then, where more than the arriving pages are over
  /// the limit, the least recently used row.
  ///
  /// Replaced bodies are kept for their readers, and cut-off downloads to be resumed, only while there is space for
  /// them.
  func evictSome(
    sparing row: Int64 = 0, besides arriving: Int64, _ connection: Connection
  ) throws(CacheStoreError) -> EvictionStep {
    if try room.collectRemains(connection) { return .done }
    guard try isOverLimit(connection, besides: arriving) else { return .unneeded }
    return try evictRow(sparing: row, connection) ? .done : .impossible
  }

  /// Removes the least recently used row that is not pinned; `false` where there is none.
  func evictRow(sparing row: Int64 = 0, _ connection: Connection) throws(CacheStoreError) -> Bool {
    try rowWriter.storeUsageJournal(connection)
    let statement = try connection.statement(.leastRecentlyUsed)
    defer { statement.reset() }
    statement.bind(1, row)
    guard try statement.step() else { return false }
    let (id, body, length) = (statement.integer(0), statement.integer(1), statement.integer(2))
    statement.reset()
    try noteEvicted(connection)
    try rowWriter.deleteRow(id, withBody: body, length: length, connection)
    return true
  }

  /// The limit in pages, at least as many as the empty tables need.
  func limitPages(_ connection: Connection) throws(CacheStoreError) -> Int64 {
    let most = try limits(connection).maximumBytes ?? configuration.maximumBytes
    return max(Self.fewestPages, most / configuration.pageBytes)
  }

  private static let fewestPages: Int64 = 64
}
