public import DataService
internal import Guards

/// A transport that answers from a closure, for example to count requests or to hold an answer back. If the answers
/// depend only on the URL, ``ScriptedOrigin`` is shorter.
public final class ScriptedTransport: Transport {
  /// Answers a request; the number counts from 1.
  public typealias Script =
    @Sendable (_ request: TransportRequest, _ number: Int) async throws(DataServiceError) -> TransportResponse

  private let script: Script
  private let log = Guarded<[TransportRequest]>([])

  /// Answers each request by calling the script, on a thread of the service.
  public init(_ script: @escaping Script) { self.script = script }

  /// The requests so far; each hop of a redirect and each retry counts.
  public var requests: [TransportRequest] { log.withLock { $0 } }

  /// Records the request and calls the script.
  public func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    let number = log.withLock { log in
      log.append(request)
      return log.count
    }
    return try await script(request, number)
  }
}
