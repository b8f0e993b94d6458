import Testing
import TestTurns

@testable import DataService

@Suite("Which exchange may start", .inTurn) struct ExchangeQueueTests {
  @Test func `no more start at once with one host than its limit`() {
    var queue = ExchangeQueue<Int>(limits(perHost: 2, inAll: 10))
    let started = [
      queue.start(host: "a"), queue.start(host: "a"), queue.start(host: "a"), queue.start(host: "b"),
    ]
    #expect(started == [true, true, false, true])
  }

  @Test func `no more start at once in all than the limit`() {
    var queue = ExchangeQueue<Int>(limits(perHost: 2, inAll: 3))
    let started = ["a", "b", "c", "d"].map { queue.start(host: $0) }
    #expect(started == [true, true, true, false])
  }

  @Test func `exchanges with one host start in the order they came`() {
    var queue = ExchangeQueue<Int>(limits(perHost: 1, inAll: 10))
    _ = queue.start(host: "a")
    for number in 0..<5 { _ = queue.wait(number, host: "a") }
    let next = queue.next()
    #expect(next == nil)
    var order: [Int] = []
    for _ in 0..<5 {
      queue.finish(host: "a")
      if let number = queue.next() { order.append(number) }
    }
    #expect(order == [0, 1, 2, 3, 4])
  }

  @Test func `hosts take turns, so that a long list for one does not hold up the others`() {
    var queue = ExchangeQueue<String>(limits(perHost: 1, inAll: 1))
    _ = queue.start(host: "a")
    for number in 0..<3 { _ = queue.wait("a\(number)", host: "a") }
    for number in 0..<2 { _ = queue.wait("b\(number)", host: "b") }
    _ = queue.wait("c0", host: "c")
    var order: [String] = []
    var current = "a"
    for _ in 0..<6 {
      queue.finish(host: current)
      guard let item = queue.next() else { break }
      order.append(item)
      current = String(item.prefix(1))
    }
    #expect(order == ["a0", "b0", "c0", "a1", "b1", "a2"])
  }

  @Test func `a host at its limit is passed over`() {
    var queue = ExchangeQueue<String>(limits(perHost: 1, inAll: 2))
    _ = queue.start(host: "a")
    _ = queue.start(host: "b")
    _ = queue.wait("a0", host: "a")
    _ = queue.wait("b0", host: "b")
    queue.finish(host: "b")
    var next = queue.next()
    #expect(next == "b0")
    next = queue.next()
    #expect(next == nil)
  }

  @Test func `nobody overtakes those who wait at the same host`() {
    var queue = ExchangeQueue<Int>(limits(perHost: 1, inAll: 9))
    _ = queue.start(host: "a")
    _ = queue.wait(1, host: "a")
    queue.finish(host: "a")
    let overtakes = queue.start(host: "a")
    let next = queue.next()
    #expect(!overtakes && next == 1)
  }

  @Test func `what is taken out does not start`() {
    var queue = ExchangeQueue<Int>(limits(perHost: 1, inAll: 1))
    _ = queue.start(host: "a")
    let tickets = (0..<100).map { queue.wait($0, host: "a") }
    let removed = tickets.filter { $0 != tickets[57] }.map { queue.remove($0) }
    let removedAgain = queue.remove(tickets[0])
    #expect(removed == [Bool](repeating: true, count: 99) && !removedAgain)
    #expect(queue.waitingCount == 1)
    queue.finish(host: "a")
    let next = queue.next()
    #expect(next == 57)
    #expect(queue.waitingCount == 0)
  }

  @Test func `ten thousand waiting at one host all start, in order`() {
    var queue = ExchangeQueue<Int>(limits(perHost: 6, inAll: 32))
    while queue.start(host: "a") {}
    for number in 0..<10_000 { _ = queue.wait(number, host: "a") }
    var order: [Int] = []
    while order.count < 10_000 {
      queue.finish(host: "a")
      guard let number = queue.next() else { break }
      order.append(number)
    }
    #expect(order == Array(0..<10_000))
  }

  @Test func `any sequence of steps keeps within the limits and loses nobody`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      var queue = ExchangeQueue<(Int, String)>(limits(perHost: 2, inAll: 5))
      var active: [String] = []
      var waiting: [Int: ExchangeQueue<(Int, String)>.Ticket] = [:]
      for number in 0..<2_000 {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0, 1:
          let host = ["a", "b", "c", "d"].randomElement(using: &generator) ?? "a"
          if queue.start(host: host) {
            active.append(host)
          } else {
            waiting[number] = queue.wait((number, host), host: host)
          }
        case 2, 3:
          guard let host = active.popLast() else { continue }
          queue.finish(host: host)
        default:
          guard let (number, ticket) = waiting.randomElement(using: &generator) else { continue }
          waiting[number] = nil
          let wasWaiting = queue.remove(ticket)
          #expect(wasWaiting)
        }
        while let (number, host) = queue.next() {
          waiting[number] = nil
          active.append(host)
        }
        #expect(active.count <= 5 && queue.waitingCount == waiting.count && queue.activeCount == active.count)
        for host in ["a", "b", "c", "d"] { #expect(active.count(where: { $0 == host }) <= 2, "\(host)") }
      }
    }
  }

  @Test(arguments: [-1, 0, 1]) func `at least one may be under way`(limit: Int) {
    var queue = ExchangeQueue<Int>(limits(perHost: limit, inAll: 5))
    var started = [queue.start(host: "a"), queue.start(host: "a"), queue.start(host: "b")]
    #expect(started == [true, false, true] && queue.activeCount == 2)
    queue = ExchangeQueue(limits(perHost: 5, inAll: limit))
    started = [queue.start(host: "a"), queue.start(host: "b")]
    #expect(started == [true, false] && queue.activeCount == 1)
  }

  private func limits(perHost: Int, inAll: Int, perHTTP2Host: Int = 1) -> DataService.ExchangeLimits {
    var limits = DataService.ExchangeLimits()
    (limits.perHost, limits.perHTTP2Host, limits.inAll) = (perHost, perHTTP2Host, inAll)
    return limits
  }

  @Test func `what somebody waits for begins before prefetches, at its host and at others`() {
    var queue = ExchangeQueue<String>(limits(perHost: 1, inAll: 2))
    let began = [queue.start(host: "a"), queue.start(host: "b", isPrefetch: true)]
    #expect(began == [true, true])
    for name in ["a1", "a2", "c1"] { _ = queue.wait(name, host: String(name.prefix(1)), isPrefetch: true) }
    for name in ["a3", "b4", "a5"] { _ = queue.wait(name, host: String(name.prefix(1))) }
    var order: [String] = []
    for host in ["a", "b", "a", "b", "a", "a", "c"] {
      queue.finish(host: host)
      while let name = queue.next() { order.append(name) }
    }
    #expect(order == ["a3", "b4", "a5", "c1", "a1", "a2"])
  }

  @Test func `nobody overtakes those that wait at its host, but what is wanted the prefetches`() {
    var queue = ExchangeQueue<String>(limits(perHost: 2, inAll: 2))
    var began = [queue.start(host: "a"), queue.start(host: "a")]
    let prefetch = queue.wait("prefetch", host: "a", isPrefetch: true)
    queue.finish(host: "a")
    began += [queue.start(host: "a", isPrefetch: true), queue.start(host: "a")]
    #expect(began == [true, true, false, true], "what is wanted does not wait")
    let removed = [queue.remove(prefetch), queue.remove(prefetch)]
    #expect(removed == [true, false] && queue.waitingCount == 0)
  }

  @Test func `a host that speaks HTTP/2 has its own limit, and all have one together`() {
    var queue = ExchangeQueue<Int>(limits(perHost: 1, inAll: 4, perHTTP2Host: 3))
    var began = [queue.start(host: "a"), queue.start(host: "a")]
    for number in 1...9 { _ = queue.wait(number, host: "a") }
    queue.note("a", isSharing: true)
    var order: [Int] = []
    while let number = queue.next() { order.append(number) }
    #expect(order == [1, 2] && queue.isSharing("a") && !queue.isSharing("b"))
    began += [queue.start(host: "b"), queue.start(host: "c")]
    #expect(began == [true, false, true, false])
    queue.note("a", isSharing: false)
    queue.finish(host: "a")
    let next = queue.next()
    #expect(next == nil, "it speaks HTTP/1.1 now")
  }

  @Test func `the defaults are those of the design`() {
    let limits = DataService.ExchangeLimits()
    #expect(limits.perHost == 6 && limits.perHTTP2Host == 50 && limits.inAll == 50)
    #expect(CurlConfiguration().exchanges == limits && DataService.Configuration().exchanges == limits)
  }
}
