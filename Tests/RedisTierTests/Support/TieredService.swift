import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport

@testable import RedisTier

/// A machine as a program has it: a store, and a service with a tier on a server and an origin that a test scripts.
struct TieredService {
  let fixture: ServiceFixture
  let origin: ScriptedTransport

  /// - Parameter clock: Where the time of this machine must pass only as the test wants it.
  init(
    _ tier: String, store: TemporaryStore? = nil, clock: VirtualClock? = nil,
    origin script: @escaping ScriptedTransport.Script
  ) throws {
    let origin = ScriptedTransport(script)
    self.origin = origin
    let engine = try DataService.Tier.redis(tier)
    fixture = try ServiceFixture(store: store ?? TemporaryStore(), transport: origin, timekeeper: clock) {
      $0.tier = engine
    }
  }

  /// One without a network to the origin.
  static func offline(_ tier: String, store: TemporaryStore? = nil, clock: VirtualClock? = nil) throws
    -> TieredService
  {
    try TieredService(tier, store: store, clock: clock) { _, _ throws(DataServiceError) in
      throw DataServiceError(.offline, "no network")
    }
  }

  /// All deliveries of one load, after which what was offered has reached the server, or will not.
  func deliveries(_ url: URL = .page, _ policy: FetchPolicy = .storedThenFresh) async
    -> [DataService.Delivery<Data>]
  {
    let all = await fixture.deliveries(url, policy: policy)
    await fixture.settled()
    return all
  }

  /// The same in short.
  func outline(_ url: URL = .page, _ policy: FetchPolicy = .storedThenFresh) async -> [String] {
    await deliveries(url, policy).map(\.outline)
  }
}

extension URL {
  /// A page that tests load.
  static var page: URL { URL(string: "https://origin.test/page") ?? URL(filePath: "/") }
}
