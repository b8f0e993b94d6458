package import CacheStore
package import DataService
internal import FoundationEssentials
internal import Synchronization

/// A transport that answers from a closure, for what a real server cannot show: how often it was asked, and what
/// happens while it has not answered.
package final class ScriptedTransport: Transport {
  package typealias Script =
    @Sendable (_ request: TransportRequest, _ number: Int) async throws(DataServiceError) -> TransportResponse

  private let script: Script
  private let log = Mutex<[TransportRequest]>([])

  /// Answers each request with what the script makes of it and its number, counted from 1.
  package init(_ script: @escaping Script) { self.script = script }

  /// The requests so far.
  package var requests: [TransportRequest] { log.withLock { $0 } }

  package func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    let number = log.withLock { log in
      log.append(request)
      return log.count
    }
    return try await script(request, number)
  }
}

extension TransportResponse {
  /// A whole response.
  package static func answer(_ body: String, status: Int = 200, _ fields: HTTPFields = [:])
    -> TransportResponse
  {
    TransportResponse(
      version: "1.1", status: status, reason: status == 200 ? "OK" : "", fields: fields,
      body: DataService.BodyStream(whole: Data(body.utf8)))
  }
}
