@testable import DataService
import FixtureServer
import Foundation
import DataServiceTesting
import TestSupport
import Testing
import TestTurns

@Suite("Deadlines of an exchange", .inTurn) struct CurlDeadlineTests {
  private let keeper = VirtualClock()
  private let thread = NetworkThread()
  private var transport: CurlTransport { CurlTransport(thread: thread, timekeeper: keeper) }

  /// libcurl is told of the limit for connecting too, and counts by a clock that no test moves: the limit is
  /// longer than any machine needs.
  private func limits(connect: Int = 500, firstByte: Int = 30, idle: Int = 20, total: Int = 600) -> Limits {
    var limits = Limits()
    limits.connectTimeout = .seconds(connect)
    limits.firstByteTimeout = .seconds(firstByte)
    limits.idleTimeout = .seconds(idle)
    limits.totalTimeout = .seconds(total)
    return limits
  }

  /// Returns when the network thread has seen the timers that fired so far, and has read the clock since: it does so once
  /// in each turn, and the first block may be part of one that has begun before.
  private func settle() async {
    for _ in 0..<2 {
      await withCheckedContinuation { continuation in thread.perform { continuation.resume() } }
    }
  }

  /// Moves the clock, and stops it at each timer on the way. The thread sets a timer that fires early again,
  /// for what is left of the limit by this clock; moved meanwhile, the timer would come too late.
  private func advance(by delay: Duration) async {
    var rest = delay
    while let next = keeper.pendingDelays.first, next < rest {
      let step = max(.zero, next)
      keeper.advance(by: step)
      await settle()
      rest -= step
    }
    keeper.advance(by: rest)
    // A turn that has begun goes by the time at its beginning.
    await settle()
  }

  private func kind(_ body: () async throws(DataServiceError) -> Void) async -> DataServiceError.Kind? {
    do throws(DataServiceError) {
      try await body()
      return nil
    } catch {
      return error.kind
    }
  }

  @Test func `a server that never begins TLS reaches the limit for connecting`() async throws {
    let listener = try SilentListener()
    let url = try #require(URL(string: "https://127.0.0.1:\(listener.port)/"))
    let transport = transport
    let limits = limits()
    async let kind = kind { () async throws(DataServiceError) in
      _ = try await transport.response(to: TransportRequest(url: url, limits: limits))
    }
    await listener.waitForConnection()
    await keeper.whenPending()
    keeper.advance(by: .seconds(500))
    #expect(await kind == .timeout(.connect))
    withExtendedLifetime(listener) {}
  }

  @Test func `a server that never answers reaches the limit for the first byte`() async throws {
    let origin = try FixtureServer { _, connection in connection.waitForPeerClose() }
    let transport = transport
    let limits = limits()
    async let kind = kind { () async throws(DataServiceError) in
      _ = try await transport.response(to: TransportRequest(url: origin.url("/"), limits: limits))
    }
    await origin.waitForRequests(1)
    await keeper.whenPending()
    await advance(by: .milliseconds(29_999))
    #expect(!keeper.pendingDelays.isEmpty)
    keeper.advance(by: .milliseconds(1))
    #expect(await kind == .timeout(.firstByte))
    withExtendedLifetime(origin) {}
  }

  @Test func `silence within a body reaches the limit for idling, activity puts it off`() async throws {
    let steps = [Gate(), Gate()]
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na")
      for step in steps {
        step.wait()
        try connection.sendRaw("b")
      }
      connection.waitForPeerClose()
    }
    let response = try await transport.response(to: TransportRequest(url: origin.url("/"), limits: limits()))
    #expect(try await response.body.next() == Data("a".utf8))
    for step in steps {
      await advance(by: .seconds(19))
      step.open()
      #expect(try await response.body.next() == Data("b".utf8), "\(step)")
    }
    await advance(by: .milliseconds(19_999))
    #expect(!keeper.pendingDelays.isEmpty)
    keeper.advance(by: .milliseconds(1))
    #expect(
      await kind { () async throws(DataServiceError) in _ = try await response.body.next() }
        == .timeout(.idle))
    withExtendedLifetime(origin) {}
  }

  @Test func `one byte a second goes on until the total is reached`() async throws {
    let ticks = (0..<60).map { _ in Gate() }
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
      for tick in ticks {
        tick.wait()
        try connection.sendRaw("x")
      }
      connection.waitForPeerClose()
    }
    let response = try await transport.response(
      to: TransportRequest(url: origin.url("/"), limits: limits(total: 60)))
    var received = 0
    let result = await kind { () async throws(DataServiceError) in
      for tick in ticks {
        tick.open()
        received += try await response.body.next()?.count ?? 0
        await advance(by: .seconds(1))
      }
      _ = try await response.body.next()
    }
    #expect(received == 60)
    #expect(result == .timeout(.total))
    withExtendedLifetime(origin) {}
  }

  @Test func `the time in the queue counts for the total only`() async throws {
    let held = Gate()
    let origin = try FixtureServer { _, connection in
      held.wait()
      try connection.send(.ok("late"))
    }
    var configuration = CurlConfiguration()
    configuration.exchangesPerHost = 1
    let transport = CurlTransport(configuration: configuration, thread: thread, timekeeper: keeper)
    let first = TransportRequest(url: origin.url("/first"), limits: limits(firstByte: 500))
    let second = TransportRequest(url: origin.url("/second"), limits: limits(connect: 1, total: 100))
    let task = Task { try await transport.response(to: first) }
    await origin.waitForRequests(1)
    async let kind = kind { () async throws(DataServiceError) in _ = try await transport.response(to: second)
    }
    await keeper.whenPending(atLeast: 2)
    await advance(by: .milliseconds(99_999))
    #expect(keeper.pendingDelays.count == 2)
    keeper.advance(by: .milliseconds(1))
    #expect(await kind == .timeout(.total))
    held.open()
    #expect(try await task.value.status == 200)
    #expect(origin.requests().map(\.path) == ["/first"])
    withExtendedLifetime(origin) {}
  }

  @Test func `each exchange's limits count from its own beginning`() async throws {
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    let listener = try SilentListener()
    let silent = try #require(URL(string: "https://127.0.0.1:\(listener.port)/"))
    let transport = transport
    let first = try await transport.response(to: TransportRequest(url: origin.url("/"), limits: limits()))
    #expect(try await first.body.text() == "hello")
    // Longer than the second one's own limit.
    keeper.advance(by: .seconds(599))
    let limits = limits()
    async let kind = kind { () async throws(DataServiceError) in
      _ = try await transport.response(to: TransportRequest(url: silent, limits: limits))
    }
    await listener.waitForConnection()
    await keeper.whenPending()
    await settle()
    #expect(keeper.pendingDelays == [.seconds(500)])
    keeper.advance(by: .seconds(500))
    #expect(await kind == .timeout(.connect))
    withExtendedLifetime((origin, listener)) {}
  }

  @Test func `no timer is left behind`() async throws {
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    let transport = transport
    for _ in 0..<10 {
      let response = try await transport.response(to: origin.request("/"))
      #expect(try await response.body.text() == "hello")
    }
    #expect(keeper.pendingDelays.isEmpty)
    withExtendedLifetime(origin) {}
  }
}
