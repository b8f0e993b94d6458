internal import CacheStore
internal import Synchronization

/// One exchange for loads alike in all that shapes it, shared by all of them (law 7).
final class RefreshCoalescer: Sendable {
  private struct State {
    /// Those that loads may still join, by target.
    var joinable: [String: [Exchange]] = [:]
    /// Those under way that nobody may join any more, or that are nobody else's from the beginning.
    var alone: [Exchange] = []
    /// How many there are of both.
    var count = 0

    /// - Returns: Whether it was among them.
    mutating func removeJoinable(_ exchange: Exchange) -> Bool {
      guard let slot = joinable.index(forKey: exchange.plan.prepared.key.target),
        let place = joinable.values[slot].firstIndex(where: { $0 === exchange })
      else { return false }
      if joinable.values[slot].count == 1 {
        joinable.remove(at: slot)
      } else {
        joinable.values[slot].remove(at: place)
      }
      return true
    }
  }

  private let state = Mutex(State())

  /// The exchange for a load: the one under way, joined, or a new one, which `isNew` says must be started.
  ///
  /// A load that may not follow an exchange begun before it (`freshOnly`) gets its own, which later loads join.
  func exchange(for plan: Exchange.Plan, core: ServiceCore, waiter: ExchangeWaiter) -> (
    Exchange, isNew: Bool
  ) {
    guard plan.isShared else {
      let exchange = Exchange(plan: plan, core: core)
      _ = exchange.join(waiter)
      state.withLock { state in
        state.alone.append(exchange)
        state.count += 1
      }
      return (exchange, true)
    }
    return state.withLock { state in
      let target = plan.prepared.key.target
      let place = state.joinable[target]?.firstIndex { $0.plan.prepared.isAlike(plan.prepared) }
      if plan.mayFollow, let place, let exchange = state.joinable[target]?[place], exchange.join(waiter) {
        return (exchange, false)
      }
      let exchange = Exchange(plan: plan, core: core)
      _ = exchange.join(waiter)
      if let place, let replaced = state.joinable[target]?.remove(at: place) { state.alone.append(replaced) }
      state.joinable[target, default: []].append(exchange)
      state.count += 1
      return (exchange, true)
    }
  }

  /// Keeps further loads from joining an exchange whose body is whole; it is still known until it is forgotten.
  func detach(_ exchange: Exchange) {
    state.withLock { state in
      if state.removeJoinable(exchange) { state.alone.append(exchange) }
    }
  }

  /// Forgets an exchange that is over.
  func forget(_ exchange: Exchange) {
    state.withLock { state in
      // Mostly its body is whole by now, and it has been detached.
      if let place = state.alone.lastIndex(where: { $0 === exchange }) {
        state.alone.swapAt(place, state.alone.count - 1)
        state.alone.removeLast()
      } else if !state.removeJoinable(exchange) {
        return
      }
      state.count -= 1
    }
  }

  /// How many exchanges are under way.
  var count: Int { state.withLock { $0.count } }

  /// Whether no exchange is under way.
  var isIdle: Bool { count == 0 }

  /// Every exchange under way that satisfies the condition, for sign-out and closing.
  func exchanges(where condition: (Exchange) -> Bool) -> [Exchange] { all.filter(condition) }

  private var all: [Exchange] { state.withLock { $0.joinable.values.flatMap { $0 } + $0.alone } }
}
