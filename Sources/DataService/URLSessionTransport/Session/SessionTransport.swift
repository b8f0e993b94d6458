import CacheStore
import Synchronization

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Exchanges over URLSession: the platform's own network stack.
///
/// It performs one hop at a time, keeps no cookies, caches and credentials of its own, and follows no redirect. What
/// URLSession does not show is missing: the HTTP version is given as `1.1`, the reason phrase is empty, 1xx responses
/// are not reported, and fields of one name come joined. Connection options that URLSession has no means for fail
/// with `invalidRequest` rather than being ignored.
///
/// On Linux, where cancelling a task that is about to complete can crash the process, an exchange that is cancelled
/// ends for its caller at once, but its transfer runs on unread until its end, its limits or its deadlines.
public final class SessionTransport: Transport {
  private let session: URLSession
  private let delegate: SessionDelegate
  private let timekeeper: any Timekeeper

  /// Decides about a server's certificate, or presents a client's, as a session's delegate does.
  public typealias ChallengeHandler =
    @Sendable (URLAuthenticationChallenge) async -> (
      URLSession.AuthChallengeDisposition, URLCredential?
    )

  /// Makes a transport with a session of its own.
  ///
  /// - Parameters:
  ///   - configuration: It is copied, and the copy is changed so that it stores, caches and sends nothing beside the request.
  ///     Its `httpAdditionalHeaders` are not sent: a credential there would be in no key, so its answers would be
  ///     everyone's, and a redirect would carry it to other hosts. Put such fields into the request.
  ///   - onChallenge: Called for challenges of server trust and of client certificates, on Apple's systems; swift-corelibs-
  ///     foundation has neither. Without it, and for every other challenge, the system's default applies: a 401 is an answer,
  ///     and credentials are the request's own. A redirect can lead to another host, so look at the challenge's
  ///     `protectionSpace.host`. If a certificate stands for a user, name the ``DataService/Request/account``: the store
  ///     cannot know it. May be called from several threads at once.
  public convenience init(
    configuration: URLSessionConfiguration = .ephemeral, onChallenge: ChallengeHandler? = nil
  ) {
    self.init(configuration: configuration, onChallenge: onChallenge, timekeeper: SystemTimekeeper())
  }

  package init(
    configuration: URLSessionConfiguration = .ephemeral, onChallenge: ChallengeHandler? = nil,
    timekeeper: any Timekeeper
  ) {
    // The caller's own is not touched.
    let configuration = configuration.copy() as? URLSessionConfiguration ?? .ephemeral
    configuration.httpAdditionalHeaders = nil
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    // Our own limits are exact; on Linux URLSession's are cut to whole seconds.
    configuration.timeoutIntervalForRequest = 86_400
    configuration.httpMaximumConnectionsPerHost = 6
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    delegate = SessionDelegate(onChallenge: onChallenge)
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    self.timekeeper = timekeeper
  }

  deinit { session.finishTasksAndInvalidate() }

  /// Performs one hop, as `Transport` says.
  public func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    if let fault = request.fault { throw fault }
    if Task.isCancelled { throw DataServiceError(.cancelled, "the exchange was cancelled") }
    let scheme = request.url.scheme?.lowercased()
    guard scheme == "http" || scheme == "https", request.url.host?.isEmpty == false else {
      throw DataServiceError(.invalidRequest, "the URL is not an http or https URL with a host")
    }
    if let fault = request.connection.faultForURLSession { throw fault }
    let exchange = SessionExchange(request, timekeeper: timekeeper)
    let task = session.dataTask(with: URLRequest(request))
    delegate.begin(exchange, as: task)
    exchange.begin(task)
    let head = try await exchange.head()
    let reader = BodyReader(exchange)
    return TransportResponse(
      version: "1.1", status: head.status, fields: head.fields,
      body: DataService.BodyStream(length: head.length) {
        () async throws(DataServiceError) in try await reader.exchange.nextPiece()
      })
  }
}

/// Ends the exchange when the body is dropped.
private final class BodyReader: Sendable {
  let exchange: SessionExchange
  init(_ exchange: SessionExchange) { self.exchange = exchange }
  deinit { exchange.cancel() }
}

extension ConnectionOptions {
  /// Why URLSession cannot connect like this, or `nil`.
  fileprivate var faultForURLSession: DataServiceError? {
    let unsupported: [(Bool, String)] = [
      (isInsecure, "unverified TLS"), (unixSocket != nil, "a unix socket"),
      (!resolutions.isEmpty, "addresses for hosts"), (proxy != nil, "a proxy of the request's own"),
      (
        certificateAuthorityFile != nil || certificateAuthorityFolder != nil,
        "authorities of the request's own"
      ),
      (clientCertificateFile != nil || clientKeyFile != nil, "a client certificate from a file"),
      (isHTTP11Only, "HTTP/1.1 only"),
    ]
    guard let (_, what) = unsupported.first(where: \.0) else { return nil }
    return DataServiceError(
      .invalidRequest, "URLSession has no means for \(what)", hint: "use the libcurl transport")
  }
}

extension URLRequest {
  /// One hop's request.
  fileprivate init(_ request: TransportRequest) {
    self.init(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 86_400)
    httpMethod = request.method.rawValue
    httpBody = request.body
    httpShouldHandleCookies = false
    for field in request.fields.all where field.name.lowercased() != "content-length" {
      addValue(field.value, forHTTPHeaderField: field.name)
    }
    if value(forHTTPHeaderField: "User-Agent") == nil {
      setValue("cachefetch/\(Release.version)", forHTTPHeaderField: "User-Agent")
    }
    if !request.connection.isCompressed, value(forHTTPHeaderField: "Accept-Encoding") == nil {
      setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    }
  }
}
