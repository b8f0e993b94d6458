internal import Synchronization

/// What threads agree on about a load without a lock: whose it is, and whether it is still wanted. A cancel on any thread
/// and a write on the network thread meet here (law 11).
final class Wanted: Sendable {
  private enum Bit {
    static let cancelled = 1
    /// Its answer is being written.
    static let claimed = 2
    /// It has its deliveries, and wants the answer stored.
    static let kept = 4
    /// It was ended by a sign-out or a closing.
    static let stopped = 8
    /// The thread that began it has handed it over.
    static let handedOver = 16
  }
  private let word = Atomic(0)

  init() {}

  var isCancelled: Bool { has(Bit.cancelled) }
  var isStopped: Bool { has(Bit.stopped) }

  /// Takes the caller's interest back. What is being written by now is written.
  /// - Returns: Whether the network thread has the load, and is to hear of it.
  func cancel() -> Bool { set(Bit.cancelled) & Bit.handedOver != 0 }

  /// Ends the load for a sign-out or a closing.
  /// - Returns: Whether the network thread has the load, and can end it.
  func stop() -> Bool { set(Bit.stopped) & Bit.handedOver != 0 }

  /// Gives the load to the network thread, from which it is no other's.
  func handOver() { _ = set(Bit.handedOver) }

  /// Begins to write for the load; `false` where it was cancelled before.
  func claim() -> Bool { setUnlessCancelled(Bit.claimed) }

  /// Says that the load has its deliveries and wants the answer stored: no cancel takes that back. `false` where it was
  /// cancelled before.
  func keep() -> Bool { setUnlessCancelled(Bit.kept) }

  /// Ends the claim, before the origin is asked again: a cancel during the write counts from now on.
  func release() { word.bitwiseAnd(~Bit.claimed, ordering: .acquiringAndReleasing) }

  private func has(_ bit: Int) -> Bool { word.load(ordering: .acquiring) & bit != 0 }

  /// - Returns: What was set before.
  private func set(_ bit: Int) -> Int {
    word.bitwiseOr(bit, ordering: .acquiringAndReleasing).oldValue
  }

  private func setUnlessCancelled(_ bit: Int) -> Bool {
    var old = word.load(ordering: .acquiring)
    while old & Bit.cancelled == 0 || old & Bit.kept != 0 {
      let (isSet, found) = word.compareExchange(
        expected: old, desired: old | bit, ordering: .acquiringAndReleasing)
      if isSet { return true }
      old = found
    }
    return false
  }
}
