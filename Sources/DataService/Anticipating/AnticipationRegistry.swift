internal import CacheStore
internal import Synchronization

/// A held load, whatever its value.
protocol AnyHeldLoad: AnyObject, Sendable {
  var group: String? { get }
  /// Begins the load, on the network thread.
  func begin()
  /// Lets go of what is not committed.
  func letGo(_ reason: HeldReason)
}

/// Why a held load is let go.
enum HeldReason: Sendable { case cancelled, replaced, timeOver }

/// The loads that are held, and what they have brought.
final class AnticipationRegistry: Sendable {
  private struct State {
    var held: [any AnyHeldLoad] = []
    var counts = AnticipationCounts()
    var failedAt: Int64?
    var isClosed = false
  }
  private let state = Mutex(State())

  var counts: AnticipationCounts { state.withLock { $0.counts } }

  /// Holds a load for its time, in place of its group's, and of the oldest where there are too many.
  func hold(_ load: any AnyHeldLoad, for duration: Duration, core: ServiceCore) {
    let limit = max(1, core.configuration.anticipation.count)
    let replaced = state.withLock { state -> [any AnyHeldLoad] in
      guard !state.isClosed else { return [load] }
      var replaced = state.held.filter { load.group != nil && $0.group == load.group }
      state.held.removeAll { held in replaced.contains { $0 === held } }
      while state.held.count >= limit { replaced.append(state.held.removeFirst()) }
      state.held.append(load)
      return replaced
    }
    for load in replaced { load.letGo(.replaced) }
    // The look-up, and the decoding of what is stored, are not for the caller's thread.
    core.thread.perform { load.begin() }
    _ = core.timekeeper.after(duration) { [weak load] in load?.letGo(.timeOver) }
  }

  /// Lets go of all that is held, and of what comes from now on: a load that is held keeps its service.
  func close() {
    let held = state.withLock { state in
      state.isClosed = true
      return state.held
    }
    for load in held { load.letGo(.cancelled) }
  }

  func remove(_ load: any AnyHeldLoad) { state.withLock { $0.held.removeAll { $0 === load } } }

  /// Adds to the counts.
  func count(_ counts: AnticipationCounts) { state.withLock { $0.counts += counts } }

  /// When an exchange last failed for want of a network, in nanoseconds since boot.
  var failedAt: Int64? { state.withLock { $0.failedAt } }

  /// Notes whether the network was there for an exchange of the service's.
  func exchangeEnded(_ result: ExchangeResult, now: Int64) {
    switch result {
    case .failure(let error) where error.kind.isConnectivity: state.withLock { $0.failedAt = now }
    case .failure(let error) where error.kind == .cancelled: break
    case .failure, .answer: state.withLock { $0.failedAt = nil }
    }
  }
}
