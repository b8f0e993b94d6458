#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

// After a shared refresh many processes deliver and exit at once, and an exit takes as long as a delivery. Yielding lets those
// that still wait for their answer run first.
extension ServiceCore {
  /// For how long after such an answer others may still wait for theirs.
  private static var crowdedNanoseconds: Int64 { 50_000_000 }

  /// Notes that another process's exchange has answered.
  func noteFollowing() {
    let now = timekeeper.bootNanoseconds
    state.withLock { $0.followedAt = now }
  }

  /// Whether another process's exchange has just answered.
  var hasJustFollowed: Bool {
    guard let instant = state.withLock({ $0.followedAt }) else { return false }
    return timekeeper.bootNanoseconds - instant < Self.crowdedNanoseconds
  }

  /// Lets whoever wants this processor have it once, where others may still wait for what was delivered here. Where nobody
  /// wants it, this costs less than a microsecond.
  func yieldToFollowers() {
    if hasJustFollowed { sched_yield() }
  }
}
