public import CacheStore
public import PlatformFoundation

/// What performs exchanges: one request, one response, one hop.
///
/// Redirects, retries, conditional requests and caching rules belong to the service; a transport follows nothing and
/// repeats nothing. It reports the head as soon as it is whole and hands the body over as it is pulled. Cancelling
/// the task, or dropping the body before its end, ends the exchange.
public protocol Transport: Sendable {
  /// Sends the request and returns once the final response's head is whole.
  /// - Throws: The error that ended the exchange: connectivity, `timeout`, `tls`, `protocol`, `cancelled`.
  func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse
}

/// One hop's request, complete: a transport adds only what the connection itself needs.
public struct TransportRequest: Sendable {
  /// Where to; user-info and fragment have been taken out.
  public var url: URL
  /// The method.
  public var method: RequestMethod
  /// The fields to send.
  public var fields: HTTPFields
  /// The body to send, or `nil`.
  public var body: Data?
  /// Whether the request may reach the origin twice, as where a connection that was kept open turns out to be closed
  /// (RFC 9112 section 9.3.1); by default where its method is safe.
  public var isRepeatable: Bool
  /// How to connect.
  public var connection: ConnectionOptions
  /// The limits on head, body and time. `redirects` and `retries` are the service's business, and of `totalTimeout`
  /// it passes on what is left.
  public var limits: Limits

  /// Makes a request.
  public init(
    url: URL, method: RequestMethod = .get, fields: HTTPFields = [:], body: Data? = nil,
    connection: ConnectionOptions = .init(), limits: Limits = .init()
  ) {
    self.url = url
    self.method = method
    self.fields = fields
    self.body = body
    self.connection = connection
    self.limits = limits
    isRepeatable = method.isSafe
  }
}

/// One hop's response.
public struct TransportResponse: Sendable {
  /// One informational (1xx) response that came before the final one.
  public struct Interim: Sendable, Hashable {
    /// The status code.
    public let status: Int
    /// Its fields.
    public let fields: HTTPFields
    /// Makes an interim response.
    public init(status: Int, fields: HTTPFields) {
      self.status = status
      self.fields = fields
    }
  }

  /// `1.0`, `1.1` or `2`.
  public let version: String
  /// The status code.
  public let status: Int
  /// The reason phrase, empty where there is none.
  public let reason: String
  /// The fields as received.
  public let fields: HTTPFields
  /// The 1xx responses before it.
  public let interim: [Interim]
  /// The decoded body; pulling past its end is what tells that it was whole.
  public let body: TransportBody

  /// Makes a response.
  public init(
    version: String, status: Int, reason: String = "", fields: HTTPFields, interim: [Interim] = [],
    body: TransportBody
  ) {
    self.version = version
    self.status = status
    self.reason = reason
    self.fields = fields
    self.interim = interim
    self.body = body
  }
}
