/// The retry budgets of the origins that have been failing; not thread-safe.
///
/// A budget that is full again is as good as none and is dropped. Of the others the `limit` used last are kept, so that
/// a process that meets ever new dead origins does not grow; an origin that was dropped begins anew.
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

  /// Notes a first attempt; only an origin that has spent something has anything to earn.
  package mutating func earn(origin: @autoclosure () -> String) {
    guard !entries.isEmpty else { return }
    let origin = origin()
    guard var entry = entries[origin] else { return }
    entry.budget.earn()
    entries[origin] = entry.budget.isFull ? nil : entry
  }

  /// Takes one retry out; `false` where there is none left.
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
