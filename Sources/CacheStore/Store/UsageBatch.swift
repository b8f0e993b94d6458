/// Marks and counts kept in memory and written together.
struct UsageBatch {
  /// An account by its row's identifier where that is known, else by its name.
  enum Account: Equatable {
    case id(Int64)
    case name(String)
  }

  /// The most marks and hosts kept in memory; later ones are dropped, which only makes eviction less exact.
  static let limit = 10_000

  /// Rows and the time of their delivery, in milliseconds; a row may occur several times.
  private(set) var marks: [UsageJournalLines.Mark] = []
  private var isFull = false
  /// How often each event happened that belongs to no account.
  private(set) var events: [String: Int64] = [:]
  /// By host, since there may be many hosts but few accounts of one host.
  private var earlier: [String: [(account: Account, count: UsageCount)]] = [:]
  /// The host counted last; it moves to `earlier` when another is counted.
  private var latest: Latest?

  private struct Latest {
    let host: String
    let account: Account
    var count: UsageCount
  }

  var isEmpty: Bool { marks.isEmpty && latest == nil && earlier.isEmpty && events.isEmpty }
  /// Whether the batch is as small as that of a short-lived process.
  var isSmall: Bool { marks.count + earlier.count < 64 }

  mutating func mark(_ row: Int64, at instant: Int64) {
    if let last = marks.last, last.row == row {
      marks[marks.count - 1].instant = max(instant, last.instant)
      return
    }
    if !isFull, marks.count == Self.limit {
      marks = latestMarks()
      // Where this freed little, it would soon be repeated, in the end at every delivery.
      isFull = marks.count > Self.limit / 2
    }
    if !isFull { marks.append(UsageJournalLines.Mark(row: row, instant: instant)) }
  }

  /// The latest mark of each row.
  func latestMarks() -> [UsageJournalLines.Mark] {
    guard marks.count > 1 else { return marks }
    var latest: [Int64: Int64] = [:]
    for mark in marks { latest[mark.row] = max(mark.instant, latest[mark.row] ?? mark.instant) }
    return latest.map { UsageJournalLines.Mark(row: $0, instant: $1) }
  }

  mutating func count(_ account: Account, host: String, _ count: UsageCount) {
    if let last = latest, last.host == host, last.account == account {
      latest?.count += count
      return
    }
    if let last = latest { put(last.account, host: last.host, last.count) }
    latest = Latest(host: host, account: account, count: count)
  }

  mutating func count(event name: String, _ count: Int64 = 1) {
    events[name, default: 0].saturate(adding: count)
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

  /// Adds a batch that was taken out and could not be written.
  mutating func putBack(_ other: UsageBatch) {
    for mark in other.marks { self.mark(mark.row, at: mark.instant) }
    if !other.earlier.isEmpty {
      for (host, counts) in other.earlier {
        for (account, count) in counts { self.count(account, host: host, count) }
      }
    }
    for (name, count) in other.events { self.count(event: name, count) }
    if let latest = other.latest { count(latest.account, host: latest.host, latest.count) }
  }

  /// Forgets the counts of accounts that satisfy the condition.
  mutating func forgetCounts(where condition: (Account) -> Bool) {
    earlier = earlier.mapValues { $0.filter { !condition($0.account) } }.filter { !$0.value.isEmpty }
    if let last = latest, condition(last.account) { latest = nil }
  }
}

// The tables that marks and counts are added to, inside a transaction.
extension Connection {
  /// Notes when a row was last used.
  func add(_ mark: UsageJournalLines.Mark) throws(CacheStoreError) {
    let statement = try statement(.markUsed)
    statement.bind(1, mark.row)
    statement.bind(2, mark.instant)
    try statement.run()
  }

  /// Adds to the counts of an event that belongs to no account.
  func add(event name: String, _ count: Int64) throws(CacheStoreError) {
    let statement = try statement(.addEvent)
    statement.bind(1, name)
    statement.bind(2, min(count, Query.mostCounted))
    try statement.run()
  }

  /// Adds to the counts of an account and host.
  func add(_ entry: UsageJournalLines.Count) throws(CacheStoreError) {
    let count = entry.count
    let statement = try statement(.addUsage)
    statement.bind(1, entry.account)
    statement.bind(2, entry.host)
    let numbers = [
      count.stored, count.fresh, count.unchanged, count.failed, count.savedBytes, count.savedMilliseconds,
    ]
    for (index, number) in numbers.enumerated() {
      statement.bind(Int32(index + 3), min(number, Query.mostCounted))
    }
    try statement.run()
  }
}
