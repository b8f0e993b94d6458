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

/// What loads begun before they were wanted have brought, and what they have cost.
public struct AnticipationCounts: Sendable, Hashable {
  /// Those that began nothing: an unsafe method, a failing network, more urgent exchanges.
  public var refused: Int64 = 0
  /// Begun ones that were committed.
  public var committed: Int64 = 0
  /// Begun ones that were cancelled, replaced, or not committed in time.
  public var unused: Int64 = 0
  /// By how many milliseconds the committed ones were begun before they were wanted, in all.
  public var leadMilliseconds: Int64 = 0
  /// How many milliseconds of waiting that has saved: of each lead no more than its exchange took.
  public var wonMilliseconds: Int64 = 0
  /// Body bytes that were transferred for unused ones.
  public var wastedBytes: Int64 = 0

  /// Nothing yet.
  public init() {}

  /// The part of the begun ones that was committed, from 0 to 1; `nil` where none is decided.
  public var hitRate: Double? {
    let decided = committed + unused
    return decided > 0 ? Double(committed) / Double(decided) : nil
  }

  /// Adds what happened meanwhile, or elsewhere.
  public static func += (left: inout AnticipationCounts, right: AnticipationCounts) {
    left.refused.saturate(adding: right.refused)
    left.committed.saturate(adding: right.committed)
    left.unused.saturate(adding: right.unused)
    left.leadMilliseconds.saturate(adding: right.leadMilliseconds)
    left.wonMilliseconds.saturate(adding: right.wonMilliseconds)
    left.wastedBytes.saturate(adding: right.wastedBytes)
  }
}

extension Int64 {
  /// Adds, and stays at the largest number where the sum would be larger: counts come from files that anybody may have
  /// written.
  mutating func saturate(adding other: Int64) {
    let (sum, overflow) = addingReportingOverflow(other)
    self = overflow ? (other < 0 ? .min : .max) : sum
  }
}
