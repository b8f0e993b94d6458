import CacheStore
import DataService
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Answers every request at once with a body of so many bytes: what is left is the service and its store.
struct ConstantTransport: Transport {
  let body: Data

  init(bytes: Int) { body = Data(repeating: 0x78, count: bytes) }

  func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    let once = Once(body)
    return TransportResponse(
      version: "1.1", status: 200, reason: "OK",
      fields: ["Content-Type": "application/json", "ETag": "\"1\"", "Cache-Control": "no-cache"],
      body: DataService.BodyStream(length: Int64(body.count)) { () async throws(DataServiceError) -> Data? in
        once.take()
      })
  }

  /// Locked: an actor would be one more thread to go to and come back from.
  private final class Once: Sendable {
    private let body: Mutex<Data?>
    init(_ body: Data) { self.body = Mutex(body) }
    func take() -> Data? {
      body.withLock { body in
        defer { body = nil }
        return body
      }
    }
  }
}
