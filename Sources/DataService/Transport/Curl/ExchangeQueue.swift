/// Decides which exchange may start: a limited number per host and in all, hosts in turn, and each host's exchanges
/// in order of arrival. Pure bookkeeping; not thread-safe.
struct ExchangeQueue<Item> {
  /// A place in the queue.
  struct Ticket: Hashable {
    fileprivate let number: UInt64
    fileprivate let host: String
  }

  private struct Host {
    var active = 0
    var isInTurn = false
    /// Numbers in order of arrival. Those of removed items stay until they are due or make up most of the list.
    var order: [UInt64] = []
    var first = 0
    var waiting: [UInt64: Item] = [:]

    mutating func add(_ item: Item, number: UInt64) {
      order.append(number)
      waiting[number] = item
    }

    mutating func remove(number: UInt64) -> Bool {
      guard waiting.removeValue(forKey: number) != nil else { return false }
      if order.count - first > 2 * waiting.count + 16 {
        order = order[first...].filter { waiting[$0] != nil }
        first = 0
      }
      return true
    }

    /// Removes the first item; called only if one waits.
    mutating func removeFirst() -> Item? {
      while first < order.count {
        let number = order[first]
        first += 1
        if first > 64, first * 2 > order.count {
          order.removeFirst(first)
          first = 0
        }
        if let item = waiting.removeValue(forKey: number) { return item }
      }
      return nil
    }
  }

  private let hostLimit: Int
  private let limit: Int
  private var active = 0
  private var lastNumber: UInt64 = 0
  private var hosts: [String: Host] = [:]
  /// The hosts with waiting items, the next one first.
  private var turns: [String] = []

  /// How many items wait.
  private(set) var waitingCount = 0
  /// How many exchanges are under way.
  var activeCount: Int { active }

  init(perHost hostLimit: Int, inAll limit: Int) {
    self.hostLimit = max(1, hostLimit)
    self.limit = max(1, limit)
  }

  /// Starts an exchange at once; `false` if it must wait.
  mutating func start(host: String) -> Bool {
    guard active < limit else { return false }
    // One lookup for the common case: read, change and write back in place.
    let starts = { (host: inout Host) -> Bool in
      guard host.active < hostLimit, host.waiting.isEmpty else { return false }
      host.active += 1
      return true
    }(&hosts[host, default: Host()])
    if starts { active += 1 }
    return starts
  }

  /// Puts an exchange at the end of its host's queue.
  mutating func wait(_ item: Item, host: String) -> Ticket {
    lastNumber += 1
    waitingCount += 1
    hosts[host, default: Host()].add(item, number: lastNumber)
    if hosts[host]?.isInTurn == false {
      hosts[host]?.isInTurn = true
      turns.append(host)
    }
    return Ticket(number: lastNumber, host: host)
  }

  /// Removes a waiting exchange; `false` if it no longer waits.
  @discardableResult mutating func remove(_ ticket: Ticket) -> Bool {
    guard hosts[ticket.host]?.remove(number: ticket.number) == true else { return false }
    waitingCount -= 1
    if hosts.count > 64 { dropIfUnused(ticket.host) }
    return true
  }

  /// Frees the place of a running exchange.
  mutating func finish(host: String) {
    active -= 1
    hosts[host]?.active -= 1
    if hosts.count > 64 { dropIfUnused(host) }
  }

  /// The next exchange that may start, with its place taken; `nil` if none may.
  mutating func next() -> Item? {
    guard active < limit, waitingCount > 0 else { return nil }
    var index = 0
    while index < turns.count {
      let name = turns[index]
      guard var host = hosts[name], !host.waiting.isEmpty else {
        turns.remove(at: index)
        hosts[name]?.isInTurn = false
        continue
      }
      guard host.active < hostLimit else {
        index += 1
        continue
      }
      hosts[name] = nil  // so that changing the copy does not copy its storage
      let item = host.removeFirst()
      host.active += 1
      active += 1
      waitingCount -= 1
      turns.remove(at: index)
      if host.waiting.isEmpty { host.isInTurn = false } else { turns.append(name) }
      hosts[name] = host
      return item
    }
    return nil
  }

  /// Drops an unused host, but only from a long list: a recently used host is likely to be used again.
  private mutating func dropIfUnused(_ name: String) {
    guard let host = hosts[name], host.active == 0, host.waiting.isEmpty, !host.isInTurn else { return }
    hosts[name] = nil
  }
}
