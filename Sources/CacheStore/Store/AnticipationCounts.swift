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
