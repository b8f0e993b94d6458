import DataService
import FixtureServer
import Launch
import Synchronization
import TestSupport

extension DeliverySource {
  /// All deliveries of a load, in short; the gate opens at the first.
  func outline(
    _ request: DataService.Request, policy: FetchPolicy = .storedThenFresh, first: Gate? = nil
  ) async -> [String] {
    let lines = Mutex<[String]>([])
    await load(request, policy: policy) { service, request, policy in
      service.deliveries(for: request, policy: policy)
    } deliver: { delivery in
      lines.withLock { $0.append(delivery.outline) }
      first?.open()
    }
    return lines.withLock { $0 }
  }
}
