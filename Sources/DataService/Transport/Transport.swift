public import CacheStore
public import PlatformFoundation

/// Performs exchanges: one request, one response, one hop.
///
/// The service handles redirects, retries, conditional requests and caching; a transport follows and repeats nothing.
/// It returns once the head is complete and delivers the body as it is pulled. Cancelling the task, or dropping the
/// body before its end, ends the exchange.
public protocol Transport: Sendable {
  /// Sends the request and returns once the head of the final response is complete.
  /// - Throws: The error that ended the exchange: `offline`, `dns`, `refused`, `unreachable`, `disconnected`, `proxy`,
  ///   `timeout`, `tls`, `protocol`, `tooLarge`, `invalidRequest`, `cancelled`, `closed`; `libraryMissing` where there
  ///   is no libcurl; `other` for everything else.
  func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse
}

/// One hop's request, complete: a transport adds only what the connection itself needs.
public struct TransportRequest: Sendable {
  /// The URL, without user-info and fragment.
  public var url: URL
  /// The URL's text as it is to be sent, where ``url`` cannot hold that.
  package var spelling: String?
  /// The method.
  public var method: RequestMethod
  /// The fields to send. How the body is sent is the transport's to say: a `Content-Length`, `Transfer-Encoding` or
  /// `Expect` among them is left out, and one that contradicts the body is refused.
  public var fields: HTTPFields
  /// The body to send, or `nil`.
  public var body: Data?
  /// Whether the request may reach the origin twice, for example after a kept-open connection proves to be closed
  /// (RFC 9112 section 9.3.1). By default true for safe methods.
  public var isRepeatable: Bool
  /// How to connect.
  public var connection: ConnectionOptions
  /// The limits on head, body and time. The service applies `redirects` and `retries` itself, and passes the rest of
  /// the total time as `totalTimeout`.
  public var limits: Limits
  /// Whether nobody waits for it yet: it is sent after those that somebody waits for.
  package var isPrefetch = false
  /// Called with `true` where the exchange must wait for others to end, and with `false` once it need not any more. No
  /// time limit runs in between.
  package var onPlace: (@Sendable (_ isWaiting: Bool) -> Void)?
  /// Whether a coding that nobody asked for is taken off, with the fields that say so: under `http` no coding is asked
  /// for, and a coded body in the row would be nothing to loads that decode.
  package var decodesUnasked = false

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
  /// The decoded body. Reading it to the end tells whether it was complete.
  public let body: TransportBody
  /// Whether the body was in a coding and is decoded: its bytes are not those that a range counts. `nil` means that it
  /// is where the request asked for codings and the fields name one.
  package var isDecoded: Bool?

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

extension DataService {
  /// ``Transport``, for a program that has a type of that name.
  public typealias Transport = DataService::Transport
}
