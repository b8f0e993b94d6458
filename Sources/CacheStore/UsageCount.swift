/// The deliveries, as the statistics count them.
package struct UsageCount: Sendable, Hashable {
  /// Stored deliveries.
  package var stored: Int64 = 0
  /// Fresh deliveries with a new body.
  package var fresh: Int64 = 0
  /// Fresh deliveries that a 304 confirmed.
  package var unchanged: Int64 = 0
  /// Failures.
  package var failed: Int64 = 0
  /// Body bytes that did not have to be transferred.
  package var savedBytes: Int64 = 0
  /// Milliseconds of exchanges that no caller had to await.
  package var savedMilliseconds: Int64 = 0

  /// Nothing yet.
  package init() {}

  static func += (left: inout UsageCount, right: UsageCount) {
    left.stored.saturate(adding: right.stored)
    left.fresh.saturate(adding: right.fresh)
    left.unchanged.saturate(adding: right.unchanged)
    left.failed.saturate(adding: right.failed)
    left.savedBytes.saturate(adding: right.savedBytes)
    left.savedMilliseconds.saturate(adding: right.savedMilliseconds)
  }
}

extension Int64 {
  /// Adds, and stays at the largest number where the sum would overflow: the counts may come from an untrusted file.
  package mutating func saturate(adding other: Int64) {
    let (sum, overflow) = addingReportingOverflow(other)
    self = overflow ? (other < 0 ? .min : .max) : sum
  }
}
