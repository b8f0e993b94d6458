import CacheStore
public import PlatformNetworking
import Synchronization

/// Exchanges over URLSession: the platform's own network stack.
///
/// It performs one hop at a time, keeps no cookies, caches and credentials of its own, and follows no redirect. What
/// URLSession does not show is missing: the HTTP version is given as `1.1`, the reason phrase is empty, 1xx responses
/// are not reported, and fields of one name come joined. What URLSession has no means for fails with
/// `invalidRequest` rather than being ignored: some connection options, a GET with a body, and a request that
/// accepts a coding and wants the answer left in it.
///
/// URLSession does not say when it has connected either, so that `connectTimeout` has no effect: connecting
/// counts as waiting for the first byte, and where there is a body to send, as sending it. A body without a
/// `Content-Type` is sent as `application/octet-stream`, since URLSession would call it a form.
///
/// On Linux, where cancelling a task that is about to complete can crash the process, an exchange that is cancelled
/// ends for its caller at once, but its transfer runs on unread until its end, its limits or its deadlines.
public final class SessionTransport: Transport {
  private let session: URLSession
  private let delegate: SessionDelegate
  private let timekeeper: any Timekeeper

  /// Makes a transport with a session of its own.
  ///
  /// - Parameters:
  ///   - configuration: It is copied, and the copy is changed so that it stores, caches and sends nothing beside the
  ///     request. Its `httpAdditionalHeaders` are not sent: a credential there would be in no key, so its answers would
  ///     be everyone's, and a redirect would carry it to other hosts. Put such fields into the request.
  ///   - onChallenge: Called for challenges of server trust and of client certificates, on Apple's systems;
  ///     swift-corelibs-foundation has neither. Without it, and for every other challenge, the system's default
  ///     applies: a 401 is an answer, and credentials are the request's own. A redirect can lead to another host, so
  ///     look at the challenge's `protectionSpace.host`. If a certificate stands for a user, name the
  ///     ``DataService/Request/account``: the store cannot know it. May be called from several threads at once.
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
    if let fault = request.faultForURLSession { throw fault }
    let exchange = SessionExchange(request, timekeeper: timekeeper)
    let task = session.dataTask(with: URLRequest(request))
    delegate.begin(exchange, as: task)
    exchange.begin(task)
    let head = try await exchange.head()
    let reader = BodyReader(exchange)
    let fields = request.connection.isCompressed || !head.isDecoded ? head.fields : head.decodedFields
    var response = TransportResponse(
      version: "1.1", status: head.status, fields: fields,
      body: DataService.BodyStream(length: head.length) {
        () async throws(DataServiceError) in try await reader.exchange.nextPiece()
      })
    response.isDecoded = head.isDecoded
    return response
  }
}

/// Ends the exchange when the body is dropped.
private final class BodyReader: Sendable {
  let exchange: SessionExchange
  init(_ exchange: SessionExchange) { self.exchange = exchange }
  deinit { exchange.cancel() }
}

extension TransportRequest {
  /// Why URLSession cannot send it like this, or `nil`.
  fileprivate var faultForURLSession: DataServiceError? {
    let hasBodyInGet = method == .get && body != nil
    // It decodes whatever it can.
    let staysCoded =
      !connection.isCompressed
      && fields.values(of: "Accept-Encoding").contains { $0.lowercased() != "identity" }
    let unsupported: [(Bool, String)] = [
      (connection.isInsecure, "unverified TLS"), (connection.unixSocket != nil, "a unix socket"),
      (!connection.resolutions.isEmpty, "addresses for hosts"),
      (connection.proxy != nil, "a proxy of the request's own"),
      (
        connection.certificateAuthorityFile != nil || connection.certificateAuthorityFolder != nil,
        "authorities of the request's own"
      ),
      (
        connection.clientCertificateFile != nil || connection.clientKeyFile != nil,
        "a client certificate from a file"
      ),
      (connection.isHTTP11Only, "HTTP/1.1 only"),
      (hasBodyInGet, "a GET with a body"), (staysCoded, "an answer that stays in its coding"),
    ]
    guard let (_, what) = unsupported.first(where: \.0) else { return nil }
    return DataServiceError(
      .invalidRequest, "URLSession has no means for \(what)", hint: "use the libcurl transport")
  }
}

extension SessionExchange.SessionHead {
  /// The codings that URLSession decodes, asked to or not.
  private static var decoded: [String] { ["gzip", "x-gzip", "deflate", "br"] }

  /// Whether URLSession has taken a coding off. Of a part nothing is taken: it was cut out of the coded bytes, and must
  /// not pass for the rest of others.
  fileprivate var isDecoded: Bool {
    let codings = (fields.combined("Content-Encoding") ?? "").split(separator: ",").map {
      $0.trimmingCharacters(in: .whitespaces).lowercased()
    }
    return status != 206 && !codings.isEmpty && codings.allSatisfy { Self.decoded.contains($0) }
  }

  /// The fields without what they say of a coding that was taken off.
  fileprivate var decodedFields: HTTPFields {
    var fields = fields
    fields.remove("Content-Encoding")
    fields.remove("Content-Length")
    return fields
  }
}

extension URLRequest {
  /// One hop's request.
  fileprivate init(_ request: TransportRequest) {
    self.init(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 86_400)
    httpMethod = request.method.rawValue
    httpBody = request.body
    httpShouldHandleCookies = false
    // How the body is sent is URLSession's to say; what contradicts the body has been refused.
    let framing = ["content-length", "expect", "transfer-encoding"]
    for field in request.fields.all where !framing.contains(field.name.lowercased()) {
      addValue(field.value, forHTTPHeaderField: field.name)
    }
    // It would call a body without a type a form. This says what no type says (RFC 9110 section 8.3).
    if request.body?.isEmpty == false, value(forHTTPHeaderField: "Content-Type") == nil {
      setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
    }
    if value(forHTTPHeaderField: "User-Agent") == nil {
      setValue("cachefetch/\(Version.string)", forHTTPHeaderField: "User-Agent")
    }
    if !request.connection.isCompressed, value(forHTTPHeaderField: "Accept-Encoding") == nil {
      setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    }
  }
}
