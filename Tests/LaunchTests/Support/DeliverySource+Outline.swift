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
    for await delivery in deliveries(for: request, policy: policy) {
      lines.withLock { $0.append(delivery.outline) }
      first?.open()
    }
    return lines.withLock { $0 }
  }
}
