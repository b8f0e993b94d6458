/// Decides whether a prefetch may begin an exchange now. Pure.
enum PrefetchRule {
  /// The inputs of the decision.
  struct Situation: Sendable {
    var method = RequestMethod.get
    var isPassThrough = false
    /// The time of the last exchange that failed for lack of a network, in nanoseconds since boot.
    var failedAt: Int64?
    var now: Int64
    /// The number of running exchanges for loads, not counting prefetches.
    var exchanges = 0
    /// The number of all running exchanges, and how many anticipations may be held.
    var all = 0
    var held = 4
  }

  /// How long prefetches pause after a network failure, in nanoseconds.
  static let quiet: Int64 = 30_000_000_000
  /// From this many running exchanges on, the rest of the six connections per host is left to loads.
  static let busy = 4

  static func mayBegin(_ situation: Situation) -> Bool {
    guard situation.method.isSafe, !situation.isPassThrough else { return false }
    guard situation.failedAt.map({ situation.now - $0 >= quiet }) ?? true else { return false }
    // Prefetches that nobody holds any more go on into the store, and must not pile up.
    return situation.exchanges < busy && situation.all < busy + situation.held
  }
}

extension DataService {
  /// What happens to an anticipation that is not committed in time.
  public enum UnusedAnticipation: Sendable, Hashable {
    /// Its exchange is stopped.
    case cancelled
    /// Its exchange continues and fills the store.
    case finished
  }
}
