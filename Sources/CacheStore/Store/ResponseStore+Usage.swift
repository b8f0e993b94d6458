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
    left.stored += right.stored
    left.fresh += right.fresh
    left.unchanged += right.unchanged
    left.failed += right.failed
    left.savedBytes += right.savedBytes
    left.savedMilliseconds += right.savedMilliseconds
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
  private(set) var marks: [(row: Int64, instant: Int64)] = []
  private var isFull = false
  /// By host, since hosts may be many and one host's accounts are few.
  private(set) var counts: [String: [(account: Account, count: UsageCount)]] = [:]

  var isEmpty: Bool { marks.isEmpty && counts.isEmpty }

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
    if !isFull { marks.append((row, instant)) }
  }

  /// The latest mark of each row.
  func latestMarks() -> [(row: Int64, instant: Int64)] {
    guard marks.count > 1 else { return marks }
    var latest: [Int64: Int64] = [:]
    for (row, instant) in marks { latest[row] = max(instant, latest[row] ?? instant) }
    return latest.map { ($0, $1) }
  }

  mutating func count(_ account: Account, host: String, _ count: UsageCount) {
    guard counts.count < Self.limit || counts[host] != nil else { return }
    if let place = counts[host]?.firstIndex(where: { $0.account == account }) {
      counts[host]?[place].count += count
    } else {
      counts[host, default: []].append((account, count))
    }
  }

  /// Forgets the counts of accounts that satisfy the condition.
  mutating func forgetCounts(where condition: (Account) -> Bool) {
    counts = counts.mapValues { $0.filter { !condition($0.account) } }.filter { !$0.value.isEmpty }
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

  /// Writes what waits in memory, in one transaction. What cannot be written is dropped: it is a convenience.
  func flushUsage() async {
    let batch = usage.withLock { batch in
      defer { batch = UsageBatch() }
      return batch
    }
    guard !batch.isEmpty, !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return }
    // Nobody waits for these numbers, and no delivery depends on them.
    _ = try? await writes.perform { (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in try self.write(batch, connection) }
    }
  }

  private func write(_ batch: UsageBatch, _ connection: Connection) throws(CacheStoreError) {
    for (row, instant) in batch.latestMarks() {
      let statement = try connection.statement(.markUsed)
      statement.bind(1, row)
      statement.bind(2, instant)
      try statement.run()
    }
    for (host, account, count) in batch.counts.flatMap({ host, counts in counts.map { (host, $0, $1) } }) {
      guard let accountID = try id(of: account, connection) else { continue }
      let statement = try connection.statement(.addUsage)
      statement.bind(1, accountID)
      statement.bind(2, host)
      statement.bind(3, count.stored)
      statement.bind(4, count.fresh)
      statement.bind(5, count.unchanged)
      statement.bind(6, count.failed)
      statement.bind(7, count.savedBytes)
      statement.bind(8, count.savedMilliseconds)
      statement.bind(9, count.anticipations.refused)
      statement.bind(10, count.anticipations.committed)
      statement.bind(11, count.anticipations.unused)
      statement.bind(12, count.anticipations.leadMilliseconds)
      statement.bind(13, count.anticipations.wonMilliseconds)
      statement.bind(14, count.anticipations.wastedBytes)
      try statement.run()
    }
  }

  private func id(of account: UsageBatch.Account, _ connection: Connection) throws(CacheStoreError) -> Int64?
  {
    switch account {
    case .id(let id): try accountName(of: id, connection) == nil ? nil : id
    case .name(let name): try accountID(named: name, connection)
    }
  }
}
