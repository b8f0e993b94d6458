/// The retry budgets of the origins that have been failing; not thread-safe.
///
/// A full budget needs no entry and is dropped. Of the others, the `limit` most recently used are kept, so that a
/// process that contacts many dead origins does not grow; a dropped origin starts with a full budget.
package struct RetryBudgets: Sendable {
  private struct Entry {
    var budget: RetryBudget
    var lastUse: UInt64
  }

  private let limit: Int
  private var entries: [String: Entry] = [:]
  private var uses: UInt64 = 0

  /// Budgets for at most so many origins.
  package init(limit: Int = 256) { self.limit = max(1, limit) }

  /// How many are kept.
  package var count: Int { entries.count }

  /// Records a first attempt. Only an origin that has spent retries has an entry that can earn.
  package mutating func earn(origin: @autoclosure () -> String) {
    guard !entries.isEmpty else { return }
    let origin = origin()
    guard var entry = entries[origin] else { return }
    entry.budget.earn()
    entries[origin] = entry.budget.isFull ? nil : entry
  }

  /// Spends one retry; `false` if none is left.
  package mutating func spend(origin: String) -> Bool {
    var entry = entries[origin] ?? Entry(budget: RetryBudget(), lastUse: 0)
    if entries[origin] == nil, entries.count >= limit { dropOldest() }
    uses += 1
    entry.lastUse = uses
    defer { entries[origin] = entry }
    return entry.budget.spend()
  }

  private mutating func dropOldest() {
    guard let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
    entries[oldest.key] = nil
  }
}
