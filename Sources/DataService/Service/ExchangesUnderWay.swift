internal import CacheStore

/// The exchanges under way: one for loads alike in all that shapes it, shared by all of them (law 7).
struct ExchangesUnderWay {
  /// Those that loads may still join, by target.
  private var joinable: [String: [any AnyExchange]] = [:]
  /// Those under way that nobody may join any more, or that are nobody else's from the beginning.
  private var alone: [any AnyExchange] = []
  /// How many there are of both.
  private(set) var count = 0

  /// The exchange that a load of this request may join.
  func joinable(for request: PreparedRequest) -> (any AnyExchange)? {
    joinable[request.key.target]?.first { $0.prepared.isAlike(request) }
  }

  /// Adds one that begins. What is joinable for the same request is that no longer.
  mutating func add(_ exchange: any AnyExchange, isShared: Bool) {
    count += 1
    guard isShared else { return alone.append(exchange) }
    if let replaced = joinable(for: exchange.prepared) { detach(replaced) }
    joinable[exchange.prepared.key.target, default: []].append(exchange)
  }

  /// Keeps further loads from joining an exchange; it is still known until it is forgotten.
  mutating func detach(_ exchange: any AnyExchange) {
    if removeJoinable(exchange) { alone.append(exchange) }
  }

  /// Forgets an exchange that is over.
  mutating func forget(_ exchange: any AnyExchange) {
    // Mostly its body is whole by now, and it has been detached.
    if let place = alone.lastIndex(where: { $0 === exchange }) {
      alone.swapAt(place, alone.count - 1)
      alone.removeLast()
    } else if !removeJoinable(exchange) {
      return
    }
    count -= 1
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
