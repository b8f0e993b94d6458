/// Whether anticipating may begin an exchange now. Pure.
enum PrefetchRule {
  /// What the decision depends on.
  struct Situation: Sendable {
    var method = RequestMethod.get
    var isPassThrough = false
    /// When an exchange last failed for want of a network, in nanoseconds since boot.
    var failedAt: Int64?
    var now: Int64
    /// Exchanges under way for loads that are wanted.
    var exchanges = 0
  }

  /// How long a failing network is left alone, in nanoseconds.
  static let quiet: Int64 = 30_000_000_000
  /// With so many exchanges under way, the places that are left are for what is wanted: six a host in all.
  static let busy = 4

  static func mayBegin(_ situation: Situation) -> Bool {
    guard situation.method.isSafe, !situation.isPassThrough else { return false }
    guard situation.failedAt.map({ situation.now - $0 >= quiet }) ?? true else { return false }
    return situation.exchanges < busy
  }
}
