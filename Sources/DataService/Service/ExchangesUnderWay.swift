internal import CacheStore

/// The running exchanges. Loads that agree in everything that shapes an exchange share one (law 7).
struct ExchangesUnderWay {
  /// The exchanges that loads may still join, by target.
  private var joinable: [String: [any AnyExchange]] = [:]
  /// The running exchanges that no load may join, any more or from the beginning.
  private var alone: [any AnyExchange] = []
  /// The number of both.
  private(set) var count = 0

  /// The exchange that a load of this request may join.
  func joinable(for request: PreparedRequest) -> (any AnyExchange)? {
    joinable[request.key.target]?.first { $0.prepared.isAlike(request) }
  }

  /// Adds a new exchange. It replaces the joinable exchange of the same request.
  mutating func add(_ exchange: any AnyExchange, isShared: Bool) {
    count += 1
    guard isShared else { return alone.append(exchange) }
    if let replaced = joinable(for: exchange.prepared) { detach(replaced) }
    joinable[exchange.prepared.key.target, default: []].append(exchange)
  }

  /// Keeps further loads from joining an exchange; the exchange stays listed until it ends.
  mutating func detach(_ exchange: any AnyExchange) {
    if removeJoinable(exchange) { alone.append(exchange) }
  }

  /// Removes an exchange that has ended.
  mutating func forget(_ exchange: any AnyExchange) {
    // Usually its body is complete, so it has been detached already.
    if let place = alone.lastIndex(where: { $0 === exchange }) {
      alone.swapAt(place, alone.count - 1)
      alone.removeLast()
    } else if !removeJoinable(exchange) {
      return
    }
    count -= 1
  }

  /// The number of running exchanges that no prefetch began, counted up to `limit`.
  func wanted(upTo limit: Int) -> Int {
    var wanted = 0
    for exchanges in joinable.values {
      for exchange in exchanges where !exchange.prepared.isPrefetch { wanted += 1 }
      if wanted >= limit { return limit }
    }
    for exchange in alone where !exchange.prepared.isPrefetch {
      wanted += 1
      if wanted >= limit { return limit }
    }
    return wanted
  }

  var all: [any AnyExchange] { joinable.values.flatMap { $0 } + alone }

  /// - Returns: Whether it was among them.
  private mutating func removeJoinable(_ exchange: any AnyExchange) -> Bool {
    guard let slot = joinable.index(forKey: exchange.prepared.key.target),
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
