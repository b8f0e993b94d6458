internal import Synchronization

/// What was delivered, as `stats` counts it.
public struct UsageCount: Sendable, Hashable {
  /// Stored deliveries.
  public var stored: Int64 = 0
  /// Fresh deliveries with a new body.
  public var fresh: Int64 = 0
  /// Fresh deliveries that a 304 confirmed.
  public var unchanged: Int64 = 0
  /// Failures.
  public var failed: Int64 = 0
  /// Body bytes that did not have to be transferred.
  public var savedBytes: Int64 = 0
  /// Milliseconds of exchanges that nobody had to wait for.
  public var savedMilliseconds: Int64 = 0
  /// Loads begun before they were wanted.
  public var anticipations = AnticipationCounts()

  /// Nothing yet.
  public init() {}

  static func += (left: inout UsageCount, right: UsageCount) {
    left.stored.saturate(adding: right.stored)
    left.fresh.saturate(adding: right.fresh)
    left.unchanged.saturate(adding: right.unchanged)
    left.failed.saturate(adding: right.failed)
    left.savedBytes.saturate(adding: right.savedBytes)
    left.savedMilliseconds.saturate(adding: right.savedMilliseconds)
    left.anticipations += right.anticipations
  }
}

/// Marks and counts that wait in memory to be written together.
struct UsageBatch {
  /// By its row where that is known, else by its name.
  enum Account: Equatable {
    case id(Int64)
    case name(String)
  }

  /// The most marks and hosts kept in memory; beyond it new ones are not kept, which only makes eviction less exact.
  static let limit = 10_000

  /// Rows and when they were delivered, in milliseconds; a row may come several times.
  private(set) var marks: [UsageLines.Mark] = []
  private var isFull = false
  /// By host, since hosts may be many and one host's accounts are few.
  private var earlier: [String: [(account: Account, count: UsageCount)]] = [:]
  /// The host counted last, which a program that runs for a moment needs no dictionary for.
  private var latest: Latest?

  private struct Latest {
    let host: String
    let account: Account
    var count: UsageCount
  }

  var isEmpty: Bool { marks.isEmpty && latest == nil && earlier.isEmpty }
  /// Whether it is what a program has that ran for a moment.
  var isSmall: Bool { marks.count + earlier.count < 64 }

  mutating func mark(_ row: Int64, at instant: Int64) {
    if let last = marks.last, last.row == row {
      marks[marks.count - 1].instant = max(instant, last.instant)
      return
    }
    if marks.count == Self.limit {
      marks = latestMarks()
      // Where that made little room it would soon have to be made again, at every delivery in the end.
      isFull = marks.count > Self.limit / 2
    }
    if !isFull { marks.append(UsageLines.Mark(row: row, instant: instant)) }
  }

  /// The latest mark of each row.
  func latestMarks() -> [UsageLines.Mark] {
    guard marks.count > 1 else { return marks }
    var latest: [Int64: Int64] = [:]
    for mark in marks { latest[mark.row] = max(mark.instant, latest[mark.row] ?? mark.instant) }
    return latest.map { UsageLines.Mark(row: $0, instant: $1) }
  }

  mutating func count(_ account: Account, host: String, _ count: UsageCount) {
    if let last = latest, last.host == host, last.account == account {
      latest?.count += count
      return
    }
    if let last = latest { put(last.account, host: last.host, last.count) }
    latest = Latest(host: host, account: account, count: count)
  }

  private mutating func put(_ account: Account, host: String, _ count: UsageCount) {
    guard earlier.count < Self.limit || earlier[host] != nil else { return }
    if let place = earlier[host]?.firstIndex(where: { $0.account == account }) {
      earlier[host]?[place].count += count
    } else {
      earlier[host, default: []].append((account, count))
    }
  }

  /// Calls `body` with each count; one host and account may come twice.
  func forEachCount(
    _ body: (Account, _ host: String, UsageCount) throws(CacheStoreError) -> Void
  ) throws(CacheStoreError) {
    if !earlier.isEmpty {
      for (host, counts) in earlier {
        for (account, count) in counts { try body(account, host, count) }
      }
    }
    if let latest { try body(latest.account, latest.host, latest.count) }
  }

  /// Adds what was taken out and could not be written after all.
  mutating func putBack(_ other: UsageBatch) {
    for mark in other.marks { self.mark(mark.row, at: mark.instant) }
    if !other.earlier.isEmpty {
      for (host, counts) in other.earlier {
        for (account, count) in counts { self.count(account, host: host, count) }
      }
    }
    if let latest = other.latest { count(latest.account, host: latest.host, latest.count) }
  }

  /// Forgets the counts of accounts that satisfy the condition.
  mutating func forgetCounts(where condition: (Account) -> Bool) {
    earlier = earlier.mapValues { $0.filter { !condition($0.account) } }.filter { !$0.value.isEmpty }
    if let last = latest, condition(last.account) { latest = nil }
  }
}

extension ResponseStore {
  /// Notes that a row was delivered; nothing is written before the next batch.
  public func markUsed(rowID: Int64, atMilliseconds instant: Int64) {
    usage.withLock { $0.mark(rowID, at: instant) }
  }

  /// Adds to the counts of an account and host; nothing is written before the next batch.
  public func count(accountID: Int64, host: String, _ count: UsageCount) {
    usage.withLock { $0.count(.id(accountID), host: host, count) }
  }

  /// Adds to the counts of an account that may have no row yet. What an account's row does not stand for when the next
  /// batch is written is not counted.
  public func count(accountName: String, host: String, _ count: UsageCount) {
    usage.withLock { $0.count(.name(accountName), host: host, count) }
  }

  /// Forgets what is counted of an account that is signed out.
  func forgetCounts(accountID id: Int64?, name: String) {
    usage.withLock { batch in
      batch.forgetCounts { account in account == .name(name) || id.map { account == .id($0) } ?? false }
    }
  }

  /// Writes what waits, in memory and in `STORE.uses`, in one transaction. What cannot be written is dropped: it is a
  /// convenience.
  /// - Parameter patience: How long to wait for other processes, where it is another than `busyTimeout`.
  func flushUsage(within patience: Duration? = nil) async {
    let batch = takeBatch()
    guard !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return }
    guard !batch.isEmpty || UsageFile(files: files).isThere else { return }
    // Nobody waits for these numbers, and no delivery depends on them.
    _ = try? await writes.perform(within: patience) { (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in
        try self.takeInUses(connection)
        for mark in batch.latestMarks() { try self.mark(mark.row, at: mark.instant, connection) }
        for entry in try self.counts(of: batch, connection).known { try self.add(entry, connection) }
      }
    }
  }

  /// Leaves what waits in memory in `STORE.uses`, for the next who writes: far cheaper than a transaction, and done on
  /// the calling thread.
  /// - Returns: `false` where ``flushUsage(within:)`` is the way: it is too much, the file cannot be written, or has
  ///   become long.
  func leaveUsage() -> Bool {
    let batch = takeBatch()
    guard !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return true }
    guard !batch.isEmpty else { return !UsageFile(files: files).isLong }
    var outcome = UsageFile.Appended.refused
    // Nothing is put beside a file that may be something else; where the store is busy, the queue is the way too.
    if batch.isSmall, pool.isOpen || writes.isOpen {
      outcome =
        (try? UsageFile(files: files).append { () throws(CacheStoreError) in try self.lines(of: batch) })
        ?? .refused
    }
    if case .done(let isLong) = outcome { return !isLong }
    usage.withLock { $0.putBack(batch) }
    return false
  }

  private func takeBatch() -> UsageBatch {
    usage.withLock { batch in
      defer { batch = UsageBatch() }
      return batch
    }
  }

  /// The lines for a batch. The file is held meanwhile, so that no account of theirs is signed out before they are in it
  /// and stays there.
  private func lines(of batch: UsageBatch) throws(CacheStoreError) -> [UInt8]? {
    let look = { (connection: Connection) throws(CacheStoreError) -> [UInt8]? in
      guard let identity = connection.identity else { return nil }
      var lines = UsageLines()
      lines.marks = batch.latestMarks()
      let counts = try self.counts(of: batch, connection)
      // The row of an account that is new may be on its way through the queue, and there it is waited for.
      guard counts.areAllKnown else { return nil }
      lines.counts = counts.known
      return lines.bytes(of: identity.inode)
    }
    if let lines = writes.lookNow(look) { return lines }
    return try pool.withConnection(waitingUntil: 0, look) ?? nil
  }

  /// Takes in what waits in `STORE.uses`, inside a transaction; once in each.
  ///
  /// Before a row goes, too: its identifier may be given to another, and what was used last decides which goes.
  /// - Parameter isLast: Whether nothing may stay in the file.
  func takeInUses(isLast: Bool = false, _ connection: Connection) throws(CacheStoreError) {
    guard !connection.hasTakenUses, !configuration.isReadOnly else { return }
    connection.hasTakenUses = true
    let file = UsageFile(files: files)
    guard let bytes = file.take(isLast: isLast) else { return }
    connection.afterCommit = { file.removeTaken() }
    let lines = UsageLines(bytes, of: connection.identity?.inode ?? 0)
    for mark in lines.marks { try self.mark(mark.row, at: mark.instant, connection) }
    for count in lines.counts where try accountName(of: count.account, connection) != nil {
      try add(count, connection)
    }
  }

  private func mark(_ row: Int64, at instant: Int64, _ connection: Connection) throws(CacheStoreError) {
    let statement = try connection.statement(.markUsed)
    statement.bind(1, row)
    statement.bind(2, instant)
    try statement.run()
  }

  private func add(_ entry: UsageLines.Count, _ connection: Connection) throws(CacheStoreError) {
    let count = entry.count
    let statement = try connection.statement(.addUsage)
    statement.bind(1, entry.account)
    statement.bind(2, entry.host)
    let ahead = count.anticipations
    let numbers = [
      count.stored, count.fresh, count.unchanged, count.failed, count.savedBytes, count.savedMilliseconds,
      ahead.refused, ahead.committed, ahead.unused, ahead.leadMilliseconds, ahead.wonMilliseconds,
      ahead.wastedBytes,
    ]
    for (index, number) in numbers.enumerated() {
      statement.bind(Int32(index + 3), min(number, Query.mostCounted))
    }
    try statement.run()
  }

  /// A batch's counts, by the rows of those accounts that have one.
  private func counts(
    of batch: UsageBatch, _ connection: Connection
  ) throws(CacheStoreError) -> (known: [UsageLines.Count], areAllKnown: Bool) {
    var known: [UsageLines.Count] = []
    var areAllKnown = true
    try batch.forEachCount { (account, host, count) throws(CacheStoreError) in
      if let id = try self.id(of: account, connection) {
        known.append(UsageLines.Count(account: id, host: host, count: count))
      } else if case .name = account {
        areAllKnown = false
      }
    }
    return (known, areAllKnown)
  }

  private func id(of account: UsageBatch.Account, _ connection: Connection) throws(CacheStoreError) -> Int64?
  {
    switch account {
    case .id(let id): try accountName(of: id, connection) == nil ? nil : id
    case .name(let name): try accountID(named: name, connection)
    }
  }
}
