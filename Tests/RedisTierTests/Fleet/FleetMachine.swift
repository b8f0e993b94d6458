import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import RedisTier
import TestSupport

/// One machine of a fleet: a store of its own, a service and a way to the origin.
struct FleetMachine {
  let fixture: ServiceFixture
  let transport: ScriptedTransport
  let clock: VirtualClock

  /// A machine whose origin answers from the script.
  init(
    _ tier: FakeTier, terms: TierTerms = TierTerms(), store: TemporaryStore? = nil,
    clock: VirtualClock = VirtualClock(),
    configure: (inout DataService.Configuration) -> Void = { _ in },
    script: @escaping ScriptedTransport.Script
  ) throws {
    let transport = ScriptedTransport(script)
    self.transport = transport
    self.clock = clock
    fixture = try ServiceFixture(store: store ?? TemporaryStore(), transport: transport, timekeeper: clock) {
      $0.tier = tier.machine(terms)
      // Its clock moves as a test says, which tests of the limits use.
      $0.timeouts = InternalTimeouts()
      configure(&$0)
    }
  }

  /// A machine whose origin always answers the same.
  init(
    _ tier: FakeTier, terms: TierTerms = TierTerms(), store: TemporaryStore? = nil,
    clock: VirtualClock = VirtualClock(), answer: String, _ fields: HTTPFields = ["ETag": "\"1\""]
  ) throws {
    try self.init(tier, terms: terms, store: store, clock: clock) { request, _ in
      if let tag = fields["ETag"], request.fields["If-None-Match"] == tag {
        return .answer("", status: 304, fields)
      }
      return .answer(answer, fields)
    }
  }

  /// A machine without a network.
  static func offline(_ tier: FakeTier, terms: TierTerms = TierTerms(), store: TemporaryStore? = nil) throws
    -> FleetMachine
  {
    try FleetMachine(tier, terms: terms, store: store) { _, _ throws(DataServiceError) in
      throw DataServiceError(.offline, "no network")
    }
  }

  var requests: [TransportRequest] { transport.requests }

  /// All deliveries of one load, after which everything offered has reached the tier.
  func deliveries(
    _ url: URL, _ policy: FetchPolicy = .storedThenFresh,
    configure: (inout DataService.Request) -> Void = { _ in }
  ) async -> [DataService.Delivery<Data>] {
    let all = await fixture.deliveries(url, policy: policy, configure: configure)
    await fixture.settled()
    return all
  }

  /// The same in short.
  func outline(
    _ url: URL, _ policy: FetchPolicy = .storedThenFresh,
    configure: (inout DataService.Request) -> Void = { _ in }
  ) async -> [String] {
    await deliveries(url, policy, configure: configure).map(\.outline)
  }

  /// What is in the local store for the URL, without asking anybody.
  func stored(_ url: URL) async -> [String] { await fixture.outline(url, policy: .storedOnly) }
}

extension FakeTier {
  /// A tier that has a response, offered by a machine that is gone.
  static func with(
    _ body: String, at url: URL, _ fields: HTTPFields = ["ETag": "\"1\""]
  ) async throws -> FakeTier {
    let tier = FakeTier()
    let machine = try FleetMachine(tier, answer: body, fields)
    _ = await machine.deliveries(url)
    await machine.fixture.service.close()
    return tier
  }
}
