public import DataService
internal import Synchronization

/// A transport that answers from a closure, for what no origin shows: how often it was asked, and what happens while it has not
/// answered. Where answers go by URL, ``ScriptedOrigin`` is shorter.
public final class ScriptedTransport: Transport {
  /// Answers a request, by its number from 1.
  public typealias Script =
    @Sendable (_ request: TransportRequest, _ number: Int) async throws(DataServiceError) -> TransportResponse

  private let script: Script
  private let log = Mutex<[TransportRequest]>([])

  /// Answers each request with what the script makes of it; the script runs on a thread of the service's.
  public init(_ script: @escaping Script) { self.script = script }

  /// The requests so far, each hop of a redirect and each retry one.
  public var requests: [TransportRequest] { log.withLock { $0 } }

  /// Notes the request and has the script answer it.
  public func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    let number = log.withLock { log in
      log.append(request)
      return log.count
    }
    return try await script(request, number)
  }
}
