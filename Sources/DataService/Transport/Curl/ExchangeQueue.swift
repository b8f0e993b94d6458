/// Decides which exchange may start: a limited number per host and in all, what somebody waits for before prefetches,
/// hosts in turn, and each host's exchanges in order of arrival. Pure bookkeeping; not thread-safe.
struct ExchangeQueue<Item> {
  /// A place in the queue.
  struct Ticket: Hashable {
    fileprivate let number: UInt64
    fileprivate let line: LineName
  }

  fileprivate struct LineName: Hashable {
    let host: String
    let isPrefetch: Bool
  }

  private struct Line {
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

  /// The limit on remembered hosts that speak HTTP/2.
  private static var sharingLimit: Int { 1_024 }

  private let limits: DataService.ExchangeLimits
  /// The numbers of exchanges under way, by host.
  private var hosts: [String: Int] = [:]
  /// The hosts that speak HTTP/2, so that their exchanges share a connection.
  private var sharing: Set<String> = []
  private var lastNumber: UInt64 = 0
  private var lines: [LineName: Line] = [:]
  /// The lines, the next one first, those of prefetches last.
  private var turns: [LineName] = []

  /// How many items wait.
  private(set) var waitingCount = 0
  /// How many exchanges are under way.
  private(set) var activeCount = 0

  init(_ limits: DataService.ExchangeLimits) { self.limits = limits }

  /// Starts an exchange at once; `false` if it must wait.
  mutating func start(host: String, isPrefetch: Bool = false) -> Bool {
    if waitingCount > 0 {
      guard !isWaiting(.init(host: host, isPrefetch: false)),
        !isPrefetch || !isWaiting(.init(host: host, isPrefetch: true))
      else { return false }
    }
    return take(host)
  }

  /// Puts an exchange at the end of its host's line.
  mutating func wait(_ item: Item, host: String, isPrefetch: Bool = false) -> Ticket {
    let line = LineName(host: host, isPrefetch: isPrefetch)
    lastNumber += 1
    waitingCount += 1
    if lines[line] == nil { addTurn(line) }
    lines[line, default: Line()].add(item, number: lastNumber)
    return Ticket(number: lastNumber, line: line)
  }

  /// Removes a waiting exchange; `false` if it no longer waits.
  @discardableResult mutating func remove(_ ticket: Ticket) -> Bool {
    guard lines[ticket.line]?.remove(number: ticket.number) == true else { return false }
    waitingCount -= 1
    return true
  }

  /// Frees the place of a running exchange.
  mutating func finish(host: String) {
    activeCount -= 1
    hosts[host, default: 1] -= 1
    // Only from a long list: a recently used host is likely to be used again.
    if hosts.count > 64, hosts[host] == 0 { hosts[host] = nil }
  }

  /// The next exchange that may start, with its place taken; `nil` if none may.
  mutating func next() -> Item? {
    guard activeCount < max(1, limits.inAll), waitingCount > 0 else { return nil }
    var index = 0
    while index < turns.count {
      let line = turns[index]
      guard isWaiting(line) else {
        turns.remove(at: index)
        lines[line] = nil
        continue
      }
      guard take(line.host) else {
        index += 1
        continue
      }
      waitingCount -= 1
      turns.remove(at: index)
      addTurn(line)
      return lines[line]?.removeFirst()
    }
    return nil
  }

  /// Notes whether a host speaks HTTP/2.
  mutating func note(_ host: String, isSharing: Bool) {
    if !isSharing {
      sharing.remove(host)
    } else if sharing.count < Self.sharingLimit {
      sharing.insert(host)
    }
  }

  /// Whether the host is known to speak HTTP/2.
  func isSharing(_ host: String) -> Bool { !sharing.isEmpty && sharing.contains(host) }

  private func isWaiting(_ line: LineName) -> Bool { lines[line]?.waiting.isEmpty == false }

  private mutating func addTurn(_ line: LineName) {
    turns.insert(
      line, at: line.isPrefetch ? turns.count : turns.firstIndex(where: \.isPrefetch) ?? turns.count)
  }

  /// Takes a place; `false` if there is none.
  private mutating func take(_ host: String) -> Bool {
    guard activeCount < max(1, limits.inAll) else { return false }
    let most = max(1, isSharing(host) ? limits.perHTTP2Host : limits.perHost)
    // One lookup for the common case: read, change and write back in place.
    let isTaken = { (count: inout Int) -> Bool in
      guard count < most else { return false }
      count += 1
      return true
    }(&hosts[host, default: 0])
    if isTaken { activeCount += 1 }
    return isTaken
  }
}
