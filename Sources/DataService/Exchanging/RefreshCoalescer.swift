internal import Synchronization

/// One exchange for loads alike in all that shapes it, shared by all of them (design law 7).
final class RefreshCoalescer: Sendable {
  private let running = Mutex<[PreparedRequest.ExchangeIdentity: Exchange]>([:])
  private let alone = Mutex<[ObjectIdentifier: Exchange]>([:])

  /// The exchange for a load: the one under way, joined, or a new one, which `isNew` says must be started.
  ///
  /// A load that may not follow an exchange begun before it (`freshOnly`) gets its own, which later loads join.
  func exchange(for plan: Exchange.Plan, core: ServiceCore, waiter: any ExchangeWaiter) -> (
    Exchange, isNew: Bool
  ) {
    guard plan.isShared else {
      let exchange = Exchange(plan: plan, core: core)
      _ = exchange.join(waiter)
      alone.withLock { $0[ObjectIdentifier(exchange)] = exchange }
      return (exchange, true)
    }
    let identity = plan.prepared.identity
    return running.withLock { running in
      if plan.mayFollow, let exchange = running[identity], exchange.join(waiter) { return (exchange, false) }
      let exchange = Exchange(plan: plan, core: core)
      _ = exchange.join(waiter)
      if let replaced = running.updateValue(exchange, forKey: identity) {
        alone.withLock { $0[ObjectIdentifier(replaced)] = replaced }
      }
      return (exchange, true)
    }
  }

  /// Keeps further loads from joining an exchange whose body is whole; it is still known until it is forgotten.
  func detach(_ exchange: Exchange) {
    guard exchange.plan.isShared else { return }
    let identity = exchange.plan.prepared.identity
    running.withLock { running in
      if running[identity] === exchange { running[identity] = nil }
    }
    alone.withLock { $0[ObjectIdentifier(exchange)] = exchange }
  }

  /// Forgets an exchange that is over.
  func forget(_ exchange: Exchange) {
    detach(exchange)
    alone.withLock { $0[ObjectIdentifier(exchange)] = nil }
  }

  /// How many exchanges are under way.
  var count: Int { running.withLock { $0.count } + alone.withLock { $0.count } }

  /// Whether no exchange is under way.
  var isIdle: Bool { running.withLock { $0.isEmpty } && alone.withLock { $0.isEmpty } }

  /// Every exchange under way that satisfies the condition, for sign-out and closing.
  func exchanges(where condition: (Exchange) -> Bool) -> [Exchange] {
    (running.withLock { Array($0.values) } + alone.withLock { Array($0.values) }).filter(condition)
  }
}
