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
  enum Account: Hashable {
    case id(Int64)
    case name(String)
  }

  struct Place: Hashable {
    var account: Account
    var host: String
  }

  var usedAt: [Int64: Int64] = [:]
  var counts: [Place: UsageCount] = [:]

  var isEmpty: Bool { usedAt.isEmpty && counts.isEmpty }
}

extension ResponseStore {
  /// The most rows and hosts kept in memory; beyond it new ones are not marked, which only makes eviction less exact.
  private static let usageLimit = 10_000

  /// Notes that a row was delivered; nothing is written before the next batch.
  public func markUsed(rowID: Int64, atMilliseconds instant: Int64) {
    usage.withLock { batch in
      guard batch.usedAt.count < Self.usageLimit || batch.usedAt[rowID] != nil else { return }
      batch.usedAt[rowID] = max(instant, batch.usedAt[rowID] ?? instant)
    }
  }

  /// Adds to the counts of an account and host; nothing is written before the next batch.
  public func count(accountID: Int64, host: String, _ count: UsageCount) {
    self.count(.init(account: .id(accountID), host: host), count)
  }

  /// Adds to the counts of an account that may have no row yet. What an account's row does not stand for when the next
  /// batch is written is not counted.
  public func count(accountName: String, host: String, _ count: UsageCount) {
    self.count(.init(account: .name(accountName), host: host), count)
  }

  /// Forgets what is counted of an account that is signed out.
  func forgetCounts(accountID id: Int64?, name: String) {
    usage.withLock { batch in
      batch.counts = batch.counts.filter { place, _ in
        place.account != .name(name) && id.map { place.account != .id($0) } ?? true
      }
    }
  }

  private func count(_ place: UsageBatch.Place, _ count: UsageCount) {
    usage.withLock { batch in
      guard batch.counts.count < Self.usageLimit || batch.counts[place] != nil else { return }
      batch.counts[place, default: UsageCount()] += count
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
    for (row, instant) in batch.usedAt {
      let statement = try connection.statement(.markUsed)
      statement.bind(1, row)
      statement.bind(2, instant)
      try statement.run()
    }
    for (place, count) in batch.counts {
      guard let accountID = try id(of: place.account, connection) else { continue }
      let statement = try connection.statement(.addUsage)
      statement.bind(1, accountID)
      statement.bind(2, place.host)
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
