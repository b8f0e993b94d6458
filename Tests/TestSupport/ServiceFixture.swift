internal import CacheStore
package import DataService
package import DataServiceTesting
package import PlatformFoundation
internal import Synchronization

/// A service on a fresh store, with its warnings and traces.
package final class ServiceFixture: Sendable {
  package let store: TemporaryStore
  package let service: DataService
  private let events = EventLog()
  private let isHurried: Bool

  /// A service with the real transport and clock unless others are given.
  package convenience init(
    transport: (any Transport)? = nil, timekeeper: (any Timekeeper)? = nil,
    configure: (inout DataService.Configuration) -> Void = { _ in }
  ) throws {
    try self.init(store: TemporaryStore(), transport: transport, timekeeper: timekeeper, configure: configure)
  }

  /// A service on a store that another fixture also uses, as a second process would.
  package init(
    store: TemporaryStore, transport: (any Transport)? = nil, timekeeper: (any Timekeeper)? = nil,
    configure: (inout DataService.Configuration) -> Void = { _ in }
  ) throws {
    self.store = store
    isHurried = transport != nil || timekeeper != nil
    var configuration = DataService.Configuration(store: .unhurried(path: store.path))
    configuration.timekeeper = timekeeper
    // A busy machine must not decide what a test sees: neither by the real clock, nor by one that the test advances while
    // the store is about to answer. Tests of the limits set them.
    configuration.timeouts = .endless
    if let timekeeper { configuration.store.now = { timekeeper.wallMilliseconds } }
    configuration.onTrace = { [events] in events.add($0) }
    let warnings = WarningLog()
    configuration.onWarning = { warnings.add($0) }
    configure(&configuration)
    self.warningLog = warnings
    script = transport as? ScriptedTransport
    service = DataService(configuration: configuration, transport: transport)
  }

  private let warningLog: WarningLog
  /// What answers in place of an origin, where the fixture was made with a script.
  private let script: ScriptedTransport?

  /// A service whose requests a script answers; see ``requests``.
  package static func scripted(
    timekeeper: (any Timekeeper)? = nil, _ script: @escaping ScriptedTransport.Script
  ) throws -> ServiceFixture {
    try ServiceFixture(transport: ScriptedTransport(script), timekeeper: timekeeper)
  }

  /// The requests that a ``ScriptedTransport`` has answered so far; each hop of a redirect and each retry counts.
  package var requests: [TransportRequest] { script?.requests ?? [] }

  /// The service's warnings.
  package var warnings: [DataService.Warning] { warningLog.all }

  /// Suspends until the service has traced `event` (as under `-v`) `times` times.
  package func traced(_ event: String, times: Int = 1) async { await events.wait(for: event, times: times) }

  /// Whether the service has traced `event` (as under `-v`).
  package func hasTraced(_ event: String) -> Bool { events.has(event) }

  /// A service that waits 20 ms for another process, on a store that has what the URL answers first.
  package static func impatient(_ transport: any Transport, stored url: URL) async throws -> ServiceFixture {
    // Who makes a store may have to wait for a look-up of its own, which a busy machine holds up for longer than that.
    let first = try ServiceFixture(transport: transport)
    _ = await first.outline(url)
    await first.service.close()
    let fixture = try ServiceFixture(store: first.store, transport: transport) {
      $0.store.busyTimeout = .milliseconds(20)
    }
    // It has the store open before another has it.
    _ = try await fixture.service.store.accountID(named: "")
    return fixture
  }

  /// A request that is not repeated. With the real transport and clock it has all the time that it needs: how busy the
  /// machine is must not decide what a test sees.
  package func request(_ url: URL) -> DataService.Request {
    var request = DataService.Request(url)
    if !isHurried { request.limits = .unhurried }
    request.limits.retries = 0
    return request
  }

  /// All deliveries of one load.
  package func deliveries(
    _ url: URL, policy: FetchPolicy = .storedThenFresh,
    configure: (inout DataService.Request) -> Void = { _ in }
  ) async -> [DataService.Delivery<Data>] {
    var request = request(url)
    configure(&request)
    var all: [DataService.Delivery<Data>] = []
    for await delivery in service.deliveries(for: request, policy: policy) { all.append(delivery) }
    return all
  }

  /// Returns once no load, exchange or offer to a second tier is under way.
  package func settled() async {
    while !service.isIdle { await Task.yield() }
  }

  /// All deliveries of one load, in short: `stored(a)`, `fresh(b, changed)`, `failure(refused)`.
  package func outline(
    _ url: URL, policy: FetchPolicy = .storedThenFresh,
    configure: (inout DataService.Request) -> Void = { _ in }
  ) async -> [String] {
    await deliveries(url, policy: policy, configure: configure).map(\.outline)
  }
}

extension DataService.Delivery where Value == Data {
  /// The kind, the body as text, and the change or the error; `tier(a)` for a stored response of the second tier.
  package var outline: String {
    switch self {
    case .stored(let response) where response.source == .tier: "tier(\(response.text))"
    case .stored(let response): "stored(\(response.text))"
    case .fresh(let response, let change): "fresh(\(response.text), \(change.rawValue))"
    case .failure(let error, let last):
      "failure(\(error.kind.name)\(last.map { ", last \($0.text)" } ?? ""))"
    }
  }

  /// `stored`, `fresh` or `failure`.
  package var kind: String {
    switch self {
    case .stored: "stored"
    case .fresh: "fresh"
    case .failure: "failure"
    }
  }

  /// The stored response, if it is one.
  package var stored: DataService.Response<Data>? {
    if case .stored(let response) = self { response } else { nil }
  }

  /// The fresh response, if it is one.
  package var fresh: DataService.Response<Data>? {
    if case .fresh(let response, _) = self { response } else { nil }
  }

  /// Whether the delivery's response was kept; `nil` for a failure.
  package var kept: DataService.Kept? {
    switch self {
    case .stored(let response), .fresh(let response, _): response.kept
    case .failure: nil
    }
  }
}

extension DataService.Response where Value == Data {
  /// The body as text.
  package var text: String { String(decoding: value, as: UTF8.self) }
}

private final class WarningLog: Sendable {
  private let warnings = Mutex<[DataService.Warning]>([])
  func add(_ warning: DataService.Warning) { warnings.withLock { $0.append(warning) } }
  var all: [DataService.Warning] { warnings.withLock { $0 } }
}

/// Lines that tests wait for.
private final class EventLog: Sendable {
  private struct Waiting {
    let event: String
    let times: Int
    let continuation: CheckedContinuation<Void, Never>
  }
  private struct State {
    var lines: [String] = []
    var waiting: [Int: Waiting] = [:]
    var next = 0

    func count(_ event: String) -> Int { lines.count { $0.hasPrefix(event) } }
  }
  private let state = Mutex(State())

  func add(_ line: String) {
    let ready = state.withLock { state in
      state.lines.append(line)
      return state.waiting.filter { state.count($0.value.event) >= $0.value.times }.keys.compactMap {
        state.waiting.removeValue(forKey: $0)?.continuation
      }
    }
    for continuation in ready { continuation.resume() }
  }

  func has(_ event: String) -> Bool { state.withLock { $0.count(event) > 0 } }

  /// Suspends until the event has come `times` times, or the task is cancelled.
  func wait(for event: String, times: Int) async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let passes = state.withLock { state in
          if Task.isCancelled || state.count(event) >= times { return true }
          state.waiting[number] = Waiting(event: event, times: times, continuation: continuation)
          return false
        }
        if passes { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.continuation.resume()
    }
  }
}
