import DataService
import DataServiceTesting
import FixtureServer
import Foundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Cancelling an exchange", .inTurn) struct CurlCancelTests {
  private func kind<Value>(of task: Task<Value, any Error>) async -> DataServiceError.Kind? {
    switch await task.result {
    case .success: nil
    case .failure(let error): (error as? DataServiceError)?.kind
    }
  }

  /// A request that a busy machine does not end: what holds it back here is the test.
  private static func patient(_ url: URL) -> TransportRequest {
    TransportRequest(url: url, limits: .unhurried)
  }

  @Test func `a cancel before the answer ends the connection at once`() async throws {
    let gone = Gate()
    let origin = try FixtureServer { _, connection in
      connection.waitForPeerClose()
      gone.open()
    }
    let transport = CurlTransport()
    let task = Task { try await transport.response(to: Self.patient(origin.url("/"))) }
    await origin.waitForRequests(1)
    task.cancel()
    #expect(await kind(of: task) == .cancelled)
    await gone.wait()
  }

  @Test func `a cancel within the body ends the connection at once`() async throws {
    let gone = Gate()
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na")
      connection.waitForPeerClose()
      gone.open()
    }
    let transport = CurlTransport()
    let begun = Gate()
    let task = Task {
      let response = try await transport.response(to: Self.patient(origin.url("/")))
      _ = try await response.body.next()
      begun.open()
      _ = try await response.body.next()
    }
    await begun.wait()
    task.cancel()
    #expect(await kind(of: task) == .cancelled)
    await gone.wait()
  }

  @Test func `dropping the body ends the connection at once`() async throws {
    let gone = Gate()
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na")
      connection.waitForPeerClose()
      gone.open()
    }
    let transport = CurlTransport()
    func take() async throws -> Int {
      try await transport.response(to: Self.patient(origin.url("/"))).status
    }
    #expect(try await take() == 200)
    await gone.wait()
  }

  @Test func `a cancel in the queue frees the place and sends nothing`() async throws {
    let held = Gate()
    let origin = try FixtureServer { _, connection in
      held.wait()
      try connection.send(.ok("late"))
    }
    var configuration = CurlConfiguration()
    configuration.exchangesPerHost = 1
    let transport = CurlTransport(configuration: configuration)
    let first = Task { try await transport.response(to: Self.patient(origin.url("/first"))).status }
    await origin.waitForRequests(1)
    let second = Task {
      try await transport.response(to: Self.patient(origin.url("/second"))).status
    }
    let third = Task { try await transport.response(to: Self.patient(origin.url("/third"))).status }
    second.cancel()
    #expect(await kind(of: second) == .cancelled)
    held.open()
    #expect(try await first.value == 200)
    #expect(try await third.value == 200)
    #expect(origin.requests().map(\.path) == ["/first", "/third"])
  }

  @Test func `a task cancelled beforehand sends nothing`() async throws {
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    let transport = CurlTransport()
    let start = Gate()
    let task = Task {
      await start.wait()
      return try await transport.response(to: Self.patient(origin.url("/"))).status
    }
    task.cancel()
    start.open()
    #expect(await kind(of: task) == .cancelled)
    #expect(try await transport.response(to: Self.patient(origin.url("/"))).status == 200)
    #expect(origin.requests().count == 1)
  }

  @Test func `thousands cancelled at random instants leave nothing behind`() async throws {
    let body = [UInt8](repeating: 97, count: 40_000)
    let origin = try FixtureServer(routes: ["/": .ok(body)])
    let thread = NetworkThread()
    let transport = CurlTransport(thread: thread, timekeeper: SystemTimekeeper(thread: thread))
    let outcomes = await withTaskGroup(of: DataServiceError.Kind?.self) { group in
      var outcomes: [String: Int] = [:]
      func note(_ kind: DataServiceError.Kind?) { outcomes[kind?.name ?? "whole", default: 0] += 1 }
      for number in 0..<3_000 {
        let yields = number % 40
        group.addTask {
          let task = Task(executorPreference: number % 2 == 0 ? thread : nil) {
            let response = try await transport.response(to: Self.patient(origin.url("/")))
            var count = 0
            while let piece = try await response.body.next() { count += piece.count }
            return count
          }
          for _ in 0..<yields { await Task.yield() }
          task.cancel()
          switch await task.result {
          case .success(let count): return count == body.count ? nil : .truncated
          case .failure(let error): return (error as? DataServiceError)?.kind ?? .other
          }
        }
        if number >= 64, let kind = await group.next() { note(kind) }
      }
      for await kind in group { note(kind) }
      return outcomes
    }
    #expect(Set(outcomes.keys).isSubset(of: ["whole", "cancelled"]))
    #expect(outcomes.values.reduce(0, +) == 3_000)
    // Works as before, on places that were all given back.
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<40 {
        group.addTask { try await transport.response(to: Self.patient(origin.url("/"))).status }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == [Int](repeating: 200, count: 40))
    await thread.stop()
  }

  @Test func `when the thread ends, what is under way ends with closed`() async throws {
    let origin = try FixtureServer { _, connection in connection.waitForPeerClose() }
    let thread = NetworkThread()
    let transport = CurlTransport(thread: thread, timekeeper: SystemTimekeeper(thread: thread))
    let task = Task { try await transport.response(to: Self.patient(origin.url("/"))) }
    await origin.waitForRequests(1)
    await thread.stop()
    #expect(await kind(of: task) == .closed)
    let late = Task { try await transport.response(to: Self.patient(origin.url("/"))) }
    #expect(await kind(of: late) == .closed)
    await thread.stop()
  }

  @Test func `when the thread ends, what waits in the queue ends with closed and sends nothing`() async throws
  {
    let origin = try FixtureServer { _, connection in connection.waitForPeerClose() }
    let other = try FixtureServer { _, connection in connection.waitForPeerClose() }
    let thread = NetworkThread()
    let keeper = VirtualClock()
    var configuration = CurlConfiguration()
    configuration.exchangesPerHost = 1
    configuration.exchangesInAll = 2
    let transport = CurlTransport(configuration: configuration, thread: thread, timekeeper: keeper)
    func begin(_ url: URL) -> Task<TransportResponse, any Error> {
      Task { try await transport.response(to: Self.patient(url)) }
    }
    var tasks = [begin(origin.url("/first")), begin(other.url("/first"))]
    await origin.waitForRequests(1)
    await other.waitForRequests(1)
    // For a place at its host, and for one at all.
    for server in [origin, origin, other] { tasks.append(begin(server.url("/later"))) }
    // Each has a timer once it is under way, or in the queue.
    await keeper.whenPending(atLeast: 5)
    await thread.stop()
    for task in tasks { #expect(await kind(of: task) == .closed) }
    #expect(origin.requests().map(\.path) == ["/first"] && other.requests().map(\.path) == ["/first"])
    #expect(keeper.pendingDelays.isEmpty)
  }
}
