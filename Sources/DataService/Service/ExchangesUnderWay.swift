internal import CacheStore
internal import Guards

/// The running exchanges. Loads that agree in everything that shapes an exchange share one (law 7).
struct ExchangesUnderWay {
  /// The exchanges that loads may still join, by target.
  private var joinable: [String: [any AnyExchange]] = [:]
  /// The running exchanges that no load may join, any more or from the beginning.
  private var notJoinable: [any AnyExchange] = []
  /// The number of both.
  private(set) var count = 0

  /// The exchanges that a load of this request may join, the oldest first.
  func joinable(for request: PreparedRequest) -> [any AnyExchange] {
    joinable[request.key.target]?.filter { $0.prepared.isAlike(request) } ?? []
  }

  /// Adds a new exchange.
  mutating func add(_ exchange: any AnyExchange, isShared: Bool) {
    count += 1
    guard isShared else { return notJoinable.append(exchange) }
    joinable[exchange.prepared.key.target, default: []].append(exchange)
  }

  /// Keeps further loads from joining an exchange; the exchange stays listed until it ends.
  mutating func detach(_ exchange: any AnyExchange) {
    if removeJoinable(exchange) { notJoinable.append(exchange) }
  }

  /// Keeps further loads from joining the exchanges whose key meets the condition.
  /// - Returns: All of these, joinable before or not.
  mutating func detach(where condition: (RequestKey) -> Bool) -> [any AnyExchange] {
    let found = all.filter { condition($0.prepared.key) }
    for exchange in found { detach(exchange) }
    return found
  }

  /// Removes an exchange that has ended.
  mutating func forget(_ exchange: any AnyExchange) {
    // Usually its body is complete, so it has been detached already.
    if let place = notJoinable.lastIndex(where: { $0 === exchange }) {
      notJoinable.swapAt(place, notJoinable.count - 1)
      notJoinable.removeLast()
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
    for exchange in notJoinable where !exchange.prepared.isPrefetch {
      wanted += 1
      if wanted >= limit { return limit }
    }
    return wanted
  }

  var all: [any AnyExchange] { joinable.values.flatMap { $0 } + notJoinable }

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

extension EntrySelection {
  /// Whether it may select rows of that key, by accounts, key, prefix and host alone: what else it asks of a
  /// row is not known of an exchange under way.
  func maySelect(_ other: RequestKey) -> Bool {
    if let accounts, !accounts.contains(other.account) { return false }
    if let key, key != other { return false }
    if let prefix, !other.target.utf8.starts(with: prefix.utf8) { return false }
    guard let host else { return true }
    return ["http://", "https://"].contains { scheme in
      let origin = scheme + host
      if other.target == origin || other.target.utf8.starts(with: "\(origin)/".utf8) { return true }
      return isAnyPort && other.target.utf8.starts(with: "\(origin):".utf8)
    }
  }
}
