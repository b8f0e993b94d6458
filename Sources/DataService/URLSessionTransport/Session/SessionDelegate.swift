import CacheStore
import Guards
public import PlatformNetworking

extension SessionTransport {
  /// Decides about a server's certificate, or presents a client's, as a session's delegate does.
  public typealias ChallengeHandler =
    @Sendable (URLAuthenticationChallenge) async -> (
      URLSession.AuthChallengeDisposition, URLCredential?
    )
}

/// Passes the session's events to their exchanges.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
  private let exchanges = Guarded<[Int: SessionExchange]>([:])
  private let onChallenge: SessionTransport.ChallengeHandler?

  init(onChallenge: SessionTransport.ChallengeHandler? = nil) { self.onChallenge = onChallenge }

  func begin(_ exchange: SessionExchange, as task: URLSessionTask) {
    exchanges.withLock { $0[task.taskIdentifier] = exchange }
  }

  private func exchange(of task: URLSessionTask) -> SessionExchange? {
    exchanges.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // The service handles redirects.
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    guard connectionChallenges.contains(challenge.protectionSpace.authenticationMethod) else {
      guard !challengesHaveDefaults else { return completionHandler(.performDefaultHandling, nil) }
      complete(task, nil)
      return completionHandler(.cancelAuthenticationChallenge, nil)
    }
    guard let onChallenge else { return completionHandler(.performDefaultHandling, nil) }
    Task {
      let (disposition, credential) = await onChallenge(challenge)
      completionHandler(disposition, credential)
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    exchange(of: task)?.sent(totalBytesSent)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse {
      exchange(of: dataTask)?.receive(SessionExchange.SessionHead(response))
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.receive(data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    complete(task, error)
  }

  private func complete(_ task: URLSessionTask, _ error: (any Error)?) {
    let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    // For an answer without a body, URLSession may not have reported the head.
    if error == nil, let response = task.response as? HTTPURLResponse {
      exchange?.receiveIfMissing(SessionExchange.SessionHead(response))
    }
    exchange?.complete(error)
  }
}

extension SessionExchange.SessionHead {
  init(_ response: HTTPURLResponse) {
    status = response.statusCode
    fields = HTTPFields(response)
    let isEncoded = fields["Content-Encoding"].map { $0.lowercased() != "identity" } ?? false
    length = isEncoded ? nil : fields["Content-Length"].flatMap { Int64($0) }
    if fields.contains("Transfer-Encoding") { length = nil }
  }
}

extension HTTPFields {
  /// The fields of a URLSession response, by name: the order they came in is not known.
  init(_ response: HTTPURLResponse) {
    self.init()
    let pairs = response.allHeaderFields.map { ("\($0.key)", "\($0.value)") }
    for (name, value) in pairs.sorted(by: { $0.0.lowercased() < $1.0.lowercased() }) { append(name, value) }
  }
}
