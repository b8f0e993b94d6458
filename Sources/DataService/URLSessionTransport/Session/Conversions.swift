import CacheStore
public import PlatformNetworking

extension DataService.Request {
  /// The request that a `URLRequest` describes; `nil` where it has no URL.
  ///
  /// `timeoutInterval` becomes the idle timeout, its meaning in URLSession, and the time allowed for the first byte.
  /// `httpShouldHandleCookies` has no effect, since the service keeps no cookies. A body stream is ignored. The cache
  /// policy belongs to the load: see ``FetchPolicy``.
  public init?(_ request: URLRequest) {
    guard let url = request.url else { return nil }
    var fields = HTTPFields()
    for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      fields.append(name, value)
    }
    self.init(
      url, method: RequestMethod(rawValue: request.httpMethod ?? "GET"), fields: fields,
      body: request.httpBody)
    if request.timeoutInterval > 0, request.timeoutInterval < 86_400 * 365 {
      limits.idleTimeout = .milliseconds(Int64(request.timeoutInterval * 1_000))
      limits.firstByteTimeout = limits.idleTimeout
    }
  }
}

extension URLRequest {
  /// The equivalent `URLRequest`, without account, key and limits.
  public init(_ request: DataService.Request) {
    self.init(url: request.url)
    httpMethod = request.method.rawValue
    httpBody = request.body
    for field in request.fields.all { addValue(field.value, forHTTPHeaderField: field.name) }
  }
}

extension FetchPolicy {
  /// The policy nearest to a cache policy of the URL loading system.
  public init(_ policy: URLRequest.CachePolicy) {
    self =
      switch policy {
      case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
        .reloadRevalidatingCacheData:
        .freshOnly
      case .returnCacheDataElseLoad: .storedElseFresh(maxAge: .seconds(3_155_760_000))
      case .returnCacheDataDontLoad: .storedOnly
      default: .http
      }
  }
}

extension HTTPURLResponse {
  /// The head of a response as URLSession would give it; fields of one name are joined.
  public convenience init?(_ head: DataService.ResponseHead) {
    var fields: [String: String] = [:]
    for field in head.fields.all {
      let known = fields.keys.first { $0.lowercased() == field.name.lowercased() } ?? field.name
      fields[known] = fields[known].map { "\($0), \(field.value)" } ?? field.value
    }
    let url = URL(string: head.url) ?? head.requestURL
    self.init(
      url: url, statusCode: head.status, httpVersion: "HTTP/\(head.version)", headerFields: fields)
  }
}

extension DataServiceError {
  /// The service's error for an error of URLSession.
  static func urlSession(_ error: any Error, host: String, hasHead: Bool) -> DataServiceError {
    let (kind, message) = Self.meaning(of: (error as? URLError)?.code ?? .unknown, host, hasHead)
    return DataServiceError(kind, message, underlying: error)
  }

  private static func meaning(of code: URLError.Code, _ host: String, _ hasHead: Bool) -> (Kind, String) {
    switch code {
    case .cancelled: (.cancelled, "the exchange was cancelled")
    case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
      (.offline, "there is no network")
    case .cannotFindHost, .dnsLookupFailed: (.dns, "the name \(host) was not found")
    case .cannotConnectToHost: (.refused, "\(host) refused the connection")
    case .timedOut: (.timeout(hasHead ? .idle : .firstByte), "\(host) did not answer in time")
    case .networkConnectionLost where hasHead:
      (.truncated, "the response from \(host) was cut off")
    case .networkConnectionLost: (.disconnected, "\(host) closed the connection without a response")
    case .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData,
      .zeroByteResource:
      (.protocol, "the response from \(host) is malformed")
    case .badURL, .unsupportedURL: (.invalidRequest, "the URL is malformed")
    case .dataLengthExceedsMaximum: (.tooLarge, "the response from \(host) is too large")
    case .secureConnectionFailed: (.tls("handshake"), "no secure connection to \(host) could be made")
    case .serverCertificateHasBadDate: (.tls("expired"), "the certificate of \(host) has expired")
    case .serverCertificateNotYetValid: (.tls("notYetValid"), "the certificate of \(host) is not valid yet")
    case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot:
      (.tls("untrusted"), "the certificate of \(host) is not from a trusted authority")
    case .clientCertificateRejected, .clientCertificateRequired:
      (.tls("clientCertificate"), "\(host) wants another client certificate")
    default: (.other, "the transfer from \(host) failed")
    }
  }
}
