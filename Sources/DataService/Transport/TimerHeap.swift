/// Timers by instant, the earliest first; those of the same instant in the order they were set.
///
/// Cancelled timers stay until they are due or make up more than half of the heap: most deadlines are cancelled long
/// before they are due, and removing each from the middle would cost more.
package struct TimerHeap {
  private struct Entry {
    let instant: Int64
    let number: UInt64
    let timer: TimerHandle

    func comesBefore(_ other: Entry) -> Bool { (instant, number) < (other.instant, other.number) }
  }

  private var entries: [Entry] = []
  private var lastNumber: UInt64 = 0
  private var sweepThreshold = 64

  /// No timers.
  package init() {}

  /// How many entries are held, cancelled ones included.
  package var count: Int { entries.count }

  /// Whether nothing is held.
  package var isEmpty: Bool { entries.isEmpty }

  /// The timers that are still to fire, with their instants, in order.
  package var pending: [(instant: Int64, timer: TimerHandle)] {
    entries.filter(\.timer.isPending).sorted { $0.comesBefore($1) }.map { ($0.instant, $0.timer) }
  }

  /// The earliest instant at which a timer may have to fire.
  package var nextInstant: Int64? { entries.first?.instant }

  /// Adds a timer.
  package mutating func insert(_ timer: TimerHandle, at instant: Int64) {
    if entries.count >= sweepThreshold { sweep() }
    lastNumber += 1
    entries.append(Entry(instant: instant, number: lastNumber, timer: timer))
    siftUp(entries.count - 1)
  }

  /// Removes and returns the earliest timer where its instant is not after `now`.
  package mutating func removeDue(at now: Int64) -> TimerHandle? {
    guard let first = entries.first, first.instant <= now else { return nil }
    let last = entries.removeLast()
    if !entries.isEmpty {
      entries[0] = last
      siftDown(0)
    }
    return first.timer
  }

  /// Removes cancelled timers and keeps the order of the rest (a sorted array is a heap).
  private mutating func sweep() {
    entries = entries.filter(\.timer.isPending).sorted { $0.comesBefore($1) }
    sweepThreshold = max(64, entries.count * 2)
  }

  private mutating func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].comesBefore(entries[parent]) else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func siftDown(_ start: Int) {
    var parent = start
    while true {
      let left = parent * 2 + 1
      guard left < entries.count else { return }
      let right = left + 1
      let child = right < entries.count && entries[right].comesBefore(entries[left]) ? right : left
      guard entries[child].comesBefore(entries[parent]) else { return }
      entries.swapAt(child, parent)
      parent = child
    }
  }
}
