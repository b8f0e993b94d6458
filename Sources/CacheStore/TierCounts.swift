/// What a fleet's second tier has done for the processes on a store, for the statistics.
package struct TierCounts: Sendable, Hashable {
  /// Exchanges that asked the tier.
  package var asked: Int64 = 0
  /// Rows of the tier that were stored here.
  package var stored: Int64 = 0
  /// Responses that the tier accepted.
  package var offered: Int64 = 0
  /// Exchanges that got no answer in time, or did not ask because the tier was silent.
  package var silent: Int64 = 0

  /// Nothing yet, unless given.
  package init(asked: Int64 = 0, stored: Int64 = 0, offered: Int64 = 0, silent: Int64 = 0) {
    self.asked = asked
    self.stored = stored
    self.offered = offered
    self.silent = silent
  }

  /// Adds other counts.
  package static func += (left: inout TierCounts, right: TierCounts) {
    left.asked.saturate(adding: right.asked)
    left.stored.saturate(adding: right.stored)
    left.offered.saturate(adding: right.offered)
    left.silent.saturate(adding: right.silent)
  }
}
