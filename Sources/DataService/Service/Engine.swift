internal import CacheStore
internal import Guards
internal import Synchronization

/// What is under way in a service, and belongs to its network thread: what is here, and the loads and exchanges behind it,
/// are touched there alone and need no lock. Others come through ``run(_:)``.
// `@unchecked`: all but the constants is the thread's; debug builds trap where another touches it. A class and no actor:
// an exchange's tasks run on the thread already, and a turn through an actor costs each of them 6,400 instructions.
final class Engine: @unchecked Sendable {
  private let thread: NetworkThread
  private var exchangesNow = ExchangesUnderWay()
  private var budgets = RetryBudgets()
  private var maintenanceNow: Maintenance
  /// How many exchanges and shares of maintenance are under way, for any thread to read.
  private let count = Atomic(0)
  /// When another process's exchange last answered a load, in nanoseconds since boot; 0 for never.
  private let followedAt = Atomic<Int64>(0)

  init(thread: NetworkThread, now: Int64) {
    self.thread = thread
    maintenanceNow = Maintenance(last: now)
  }

  /// Traps where the caller is elsewhere, in debug builds.
  func check() { assert(thread.isCurrent, "not on the network thread") }

  /// Does something on the thread, at once for a caller who is there.
  func run<Result: Sendable>(_ work: @escaping @Sendable (Engine) -> Result) async -> Result {
    await withUnsafeContinuation { caller in
      thread.performHere { caller.resume(returning: work(self)) }
    }
  }

  var exchanges: ExchangesUnderWay {
    get {
      check()
      return exchangesNow
    }
    _modify {
      check()
      let before = exchangesNow.count
      yield &exchangesNow
      count.add(exchangesNow.count - before, ordering: .relaxed)
    }
  }

  var retryBudgets: RetryBudgets {
    get {
      check()
      return budgets
    }
    _modify {
      check()
      yield &budgets
    }
  }

  var maintenance: Maintenance {
    get {
      check()
      return maintenanceNow
    }
    _modify {
      check()
      let wasUnderWay = maintenanceNow.task != nil
      yield &maintenanceNow
      let isUnderWay = maintenanceNow.task != nil
      if isUnderWay != wasUnderWay { count.add(isUnderWay ? 1 : -1, ordering: .relaxed) }
    }
  }

  /// Whether no exchange and no maintenance is under way. From any thread.
  var isIdle: Bool { count.load(ordering: .relaxed) == 0 }

  /// Notes that another process's exchange has answered a load.
  func noteFollowing(at now: Int64) { followedAt.store(now, ordering: .relaxed) }

  /// Whether that was less than so many nanoseconds ago. From any thread.
  func hasFollowed(within nanoseconds: Int64, of now: Int64) -> Bool {
    let instant = followedAt.load(ordering: .relaxed)
    return instant != 0 && now - instant < nanoseconds
  }
}

extension ServiceCore {
  /// Keeps loads that begin from now on from the answers of exchanges under way, where what these asked for has changed:
  /// such a load makes an exchange of its own, and waits for none of them.
  func outdateExchanges(where condition: @escaping @Sendable (RequestKey) -> Bool) async {
    guard !isIdle else { return }
    await engine.run { engine in
      for exchange in engine.exchanges.detach(where: condition) { exchange.releaseOutdated() }
    }
  }
}
