import DataService
import Dispatch
import FixtureServer
import Foundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Law 11 under load: thousands of loads cancelled in every phase of their lives.
@Suite("Cancel storm", .inTurn) struct CancelStormTests {
  /// What a load was doing when the cancel hit it.
  enum Phase: Int, CaseIterable, Sendable, Comparable {
    case lookUp, waiting, connect, head, body, commit, delivered
    static func < (a: Phase, b: Phase) -> Bool { a.rawValue < b.rawValue }
  }

  /// One load of the storm: how far it has come, and whether a callback began after its cancel.
  final class Flight: Sendable {
    struct State {
      var phase = Phase.lookUp
      var cancelledIn: Phase?
      var lateCallbacks = 0
      var watchers: [(Phase, CheckedContinuation<Void, Never>)] = []
    }
    let state = Mutex(State())

    func enter(_ phase: Phase) {
      let ready = state.withLock { state in
        state.phase = max(state.phase, phase)
        let ready = state.watchers.filter { $0.0 <= state.phase }.map(\.1)
        state.watchers.removeAll { $0.0 <= state.phase }
        return ready
      }
      for continuation in ready { continuation.resume() }
    }

    func reached(_ phase: Phase) async {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.phase >= phase { return true }
          state.watchers.append((phase, continuation))
          return false
        }
        if isThere { continuation.resume() }
      }
    }
  }

  /// Where every flight can be found by the number in its URL.
  final class Flights: Sendable {
    private let all = Mutex<[String: Flight]>([:])
    private let everMade = Mutex<[StormRemains.Weak]>([])
    /// Every flight there ever was.
    var made: [StormRemains.Weak] { everMade.withLock { $0 } }
    func make(_ path: String) -> Flight {
      let flight = Flight()
      all.withLock { $0[path] = flight }
      everMade.withLock { $0.append(.init(object: flight)) }
      return flight
    }
    func remove(_ path: String) { all.withLock { _ = $0.removeValue(forKey: path) } }
    subscript(path: String) -> Flight? { all.withLock { $0[path] } }
  }

  /// How many loads were cancelled in each phase.
  private final class Tally: Sendable {
    private let counts = Mutex<[Phase: Int]>([:])
    var all: [Phase: Int] { counts.withLock { $0 } }
    func note(_ phase: Phase) { counts.withLock { $0[phase, default: 0] += 1 } }
    /// A phase in which there were fewer than so many.
    func phase(under count: Int) -> Phase? {
      counts.withLock { counts in Phase.allCases.first { counts[$0, default: 0] < count } }
    }
  }

  /// The real transport, telling each flight how far it has come.
  struct WatchedTransport: Transport {
    let inner: CurlTransport
    let flights: Flights

    func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
      let flight = flights[request.url.path]
      flight?.enter(request.url.path.hasPrefix("/waiting") ? .waiting : .connect)
      let response = try await inner.response(to: request)
      flight?.enter(.body)
      let body = response.body
      return TransportResponse(
        version: response.version, status: response.status, reason: response.reason, fields: response.fields,
        body: DataService.BodyStream(length: body.length) { () async throws(DataServiceError) in
          let piece = try await body.next()
          if piece == nil { flight?.enter(.commit) }
          return piece
        })
    }
  }

  /// More where that does not reach every phase; `CACHEFETCH_STORM=10000` for the full number.
  private static let total = wished("CACHEFETCH_STORM", else: 3_000)
  /// Of each phase.
  private static let atLeast = total / 20
  private static let lanes = 20
  /// What the loads aim at, in turn; the short phases more often, since a cancel may come too late for them.
  private static let aims: [Phase] = [
    .lookUp, .commit, .waiting, .connect, .commit, .head, .lookUp, .body, .commit, .delivered,
  ]

  @Test func `cancelled in any phase, a load is silent and leaves nothing behind`() async throws {
    let flights = Flights()
    let body = [UInt8](repeating: 97, count: 30_000)
    let origin = try FixtureServer { request, connection in
      flights[request.path]?.enter(.head)
      if request.path.hasPrefix("/head") { return connection.waitForPeerClose() }
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
      if request.path.hasPrefix("/body") {
        try connection.sendRaw(Array(body.prefix(9_999)))
        return connection.waitForPeerClose()
      }
      try connection.sendRaw(body)
    }
    // Never answers, and has all its places taken: what goes there waits for its turn.
    let occupied = try FixtureServer { _, connection in connection.waitForPeerClose() }
    // Never finishes a handshake: what goes there is connecting.
    let silent = try SilentListener()
    let ports = [URL(string: origin.url)?.port, URL(string: occupied.url)?.port, Int(silent.port)]
    var remains = try await storm(flights: flights, origin: origin, occupied: occupied, silent: silent)
    // What the last callbacks hold is freed when their queues release it.
    _ = try await eventually { try remains.count(ports: ports) == .none }
    #expect(try remains.count(ports: ports) == .none)
    #expect(flights.made.count >= Self.total)
    origin.stop()
    occupied.stop()
  }

  private func storm(
    flights: Flights, origin: FixtureServer, occupied: FixtureServer, silent: SilentListener
  ) async throws -> StormRemains {
    var places = CurlConfiguration()
    places.exchanges.perHost = Self.lanes
    places.exchanges.inAll = Self.lanes * 5
    let curl = CurlTransport(configuration: places)
    let transport = WatchedTransport(inner: curl, flights: flights)
    let fixture = try ServiceFixture(transport: transport)
    let occupants = (0..<Self.lanes).map { number -> DataService.Load in
      var request = DataService.Request(occupied.url("/occupant/\(number)"))
      // They keep their places, however long the storm is.
      request.limits = .unhurried
      return fixture.service.load(request, queue: .global()) { _ in }
    }
    await occupied.waitForRequests(Self.lanes)

    let tally = Tally()
    await withTaskGroup(of: Void.self) { group in
      for lane in 0..<Self.lanes {
        group.addTask {
          await self.fly(
            lane: lane, count: Self.total / Self.lanes, service: fixture.service, flights: flights,
            tally: tally, origin: origin, occupied: occupied, silent: silent)
        }
      }
    }

    let counts = tally.all
    let summary = Phase.allCases.map { "\($0) \(counts[$0] ?? 0)" }.joined(separator: ", ")
    print("tried: \(flights.made.count) loads cancelled: \(summary)")
    #expect(counts.values.reduce(0, +) == flights.made.count)
    for phase in Phase.allCases { #expect(counts[phase, default: 0] >= Self.atLeast, "\(phase): \(summary)") }
    for occupant in occupants { occupant.cancel() }
    // Still works, and what is stored is whole.
    let outline = await fixture.deliveries(origin.url("/after")) { $0.limits = .unhurried }
    #expect(outline.last?.kept == .yes)
    #expect(try fixture.store.value("PRAGMA integrity_check") == "ok")
    await fixture.service.close()
    return StormRemains(
      flights: flights.made, service: fixture.service, transport: curl, folder: fixture.store.folder.path)
  }

  /// A lane's loads, one after another, each cancelled some way into the phase it aims at. At the end come
  /// some more, at most twice as many, where on a slow machine the cancels came too late for a short phase.
  private func fly(
    lane: Int, count: Int, service: DataService, flights: Flights, tally: Tally, origin: FixtureServer,
    occupied: FixtureServer, silent: SilentListener
  ) async {
    var generator = SeededGenerator(seed: UInt64(lane + 1))
    let queue = DispatchQueue(label: "lane \(lane)")
    for number in 0..<3 * count {
      let missing = number < count ? nil : tally.phase(under: Self.atLeast)
      guard number < count || missing != nil else { break }
      let aim = missing ?? Self.aims[number % Self.aims.count]
      let path = "/\(aim)/\(lane)/\(number)"
      let flight = flights.make(path)
      let base =
        switch aim {
        case .waiting: occupied.url
        case .connect: "https://127.0.0.1:\(silent.port)"
        default: origin.url
        }
      guard let url = URL(string: base + path) else { continue }
      let load = service.load(.init(url), queue: queue) { delivery in
        let isLate = flight.state.withLock { state in
          if state.cancelledIn != nil { state.lateCallbacks += 1 }
          return state.cancelledIn != nil
        }
        // A failure is a delivery too: on a machine that stood still for a while limits are reached.
        if isLate { return }
        if case .stored = delivery { return }
        flight.enter(.delivered)
      }
      await flight.reached(aim)
      for _ in 0..<Int.random(in: 0..<4, using: &generator) { await Task.yield() }
      // On the callbacks' own queue, where after the cancel none may be running either.
      let (phase, late) = await withCheckedContinuation { continuation in
        queue.async {
          let phase = flight.state.withLock { state in
            load.cancel()
            state.cancelledIn = state.phase
            return state.phase
          }
          continuation.resume(returning: (phase, flight.state.withLock { $0.lateCallbacks }))
        }
      }
      tally.note(phase)
      await load.finished()
      let after = await withCheckedContinuation { continuation in
        queue.async { continuation.resume(returning: flight.state.withLock { $0.lateCallbacks }) }
      }
      #expect(late == 0 && after == 0)
      flights.remove(path)
    }
  }
}
