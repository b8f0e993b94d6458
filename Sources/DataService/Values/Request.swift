public import CacheStore
public import PlatformFoundation

extension DataService {
  /// What to ask for, and for whom.
  public struct Request: Sendable, Hashable {
    /// Where; `http` or `https`. User-info in it is sent as Basic credentials and never stored.
    public var url: URL
    /// The text that ``url`` was made of, where that is to be sent as it was spelt though no `URL` can hold it.
    package var spelling: String?
    /// The method; any method but GET and HEAD bypasses the store unless ``isRead``.
    public var method: RequestMethod
    /// The fields to send, but for those that say how the body is sent (``TransportRequest/fields``).
    public var fields: HTTPFields
    /// The body to send; never stored.
    public var body: Data?
    /// Whose rows the answer belongs to.
    public var account: Account = .automatic
    /// The caller's own key in place of method, URL and body; it never replaces the account or the connection options.
    public var key: String?
    /// Whether a request other than GET and HEAD only reads, and so is stored, shared and retried like GET.
    public var isRead = false
    /// Whether the answer is stored even though it, or the request, says `no-store`. Not under the `http` policy,
    /// which obeys `no-store`.
    public var keepsAnyway = false
    /// Names under which the row can be listed and removed. The stored response gets them where no fresh one is stored:
    /// without an exchange, and where that fails or its response is not kept. `storedOnly` changes nothing. With a name
    /// that has a control character in it the load fails with `invalidRequest`.
    public var tags: [String] = []
    /// Whether the row is exempt from eviction; as for ``tags``.
    public var isPinned = false
    /// What the load may cost.
    public var limits = Limits()
    /// How to connect.
    public var connection = ConnectionOptions()
    /// What counts as unchanged.
    public var changeRule: ChangeRule = .bytes
    /// The media types that a 2xx answer may have, such as `application/json`, `text/*` or `application/*+json`; empty
    /// accepts all. A 2xx answer of another type, or of none, is a failure and replaces nothing; other statuses are
    /// judged by ``acceptedStatuses``. A stored response of another type is not delivered. Unless ``fields`` have an
    /// `Accept`, they are sent as one, which counts for no `Vary`.
    public var acceptedMediaTypes: [String] = []
    /// The statuses that an answer may have; `nil` is 200 to 299 for the forms that decode, and all for the others.
    /// Another status is a failure of the kind `status`, judged before any decoder: it carries the response with its
    /// body (``DataServiceError/response``), and what is stored stays as it is. Where something is stored, 408, 429 and
    /// 5xx are such a failure whatever is accepted here, unless the policy is `freshOnly` or `http`.
    public var acceptedStatuses: ClosedRange<Int>?
    /// The age (RFC 9111 section 4.2.3) beyond which a stored response is not used; `nil` is none. Under every policy such
    /// a response counts as not there.
    public var maxStale: Duration?
    /// How long a load whose refresh failed for want of a network retries, at growing intervals; `nil` never does. A
    /// request that changes something is repeated only if no part of it has been sent (RFC 9110 section 9.2.2).
    public var onlineWait: Duration?
    /// Whether the load fails, instead of waiting, if another process is already refreshing this.
    package var yieldsToOthers = false
    /// Whether deliveries are counted here: not where another process asked, and counts what it delivers.
    package var isCounted = true

    /// Makes a request.
    public init(_ url: URL, method: RequestMethod = .get, fields: HTTPFields = [:], body: Data? = nil) {
      self.url = url
      self.method = method
      self.fields = fields
      self.body = body
    }
  }
}

extension HTTPFields {
  /// Whether they state another length than the body's, which is 0 where there is none.
  func contradictLength(of body: Data?) -> Bool {
    !values(of: "Content-Length").allSatisfy { Int($0) == body?.count ?? 0 }
  }
}

/// A request method (RFC 9110 section 9); compared as written, since methods are case-sensitive.
public struct RequestMethod: Sendable, Hashable, RawRepresentable, ExpressibleByStringLiteral {
  /// The method as it is sent.
  public let rawValue: String
  /// Makes a method; one that is not a token makes the load fail with `invalidRequest`.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// Makes a method from a literal.
  public init(stringLiteral value: String) { rawValue = value }

  /// GET.
  public static let get: Self = "GET"
  /// HEAD.
  public static let head: Self = "HEAD"
  /// POST.
  public static let post: Self = "POST"
  /// PUT.
  public static let put: Self = "PUT"
  /// PATCH.
  public static let patch: Self = "PATCH"
  /// DELETE.
  public static let delete: Self = "DELETE"
  /// OPTIONS.
  public static let options: Self = "OPTIONS"

  /// Whether the method is safe (RFC 9110 section 9.2.1): it asks and changes nothing.
  public var isSafe: Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(rawValue) }

  /// Whether it is safe by RFC 9110, or by the registry of methods (its section 16.1.1): a request with it invalidates
  /// nothing.
  package var isRegisteredAsSafe: Bool {
    isSafe || ["PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH"].contains(rawValue)
  }
}

/// The partition a request belongs to: no row of one account is ever delivered to another.
public struct Account: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case automatic
    case named(String)
  }
  let kind: Kind

  /// The account that a keyed digest of the request's credentials names; none if it carries none.
  public static let automatic = Account(kind: .automatic)

  /// An account that the caller names. The name replaces the digest: requests with other credentials but the same name
  /// share their rows, so a renewed token keeps them. With an empty name, or one that has a control character in it,
  /// the load fails with `invalidRequest`.
  public static func named(_ name: String) -> Account { Account(kind: .named(name)) }
}

extension DataService {
  /// ``Account``, for a program that has a type of that name: in `DataService.Account` the class hides the module.
  public typealias Account = DataService::Account
}

/// What one load may cost before it is given up (law 13); each limit fails with an error that names it.
public struct Limits: Sendable, Hashable {
  /// The largest decoded body taken from the network, in bytes. What is stored is always delivered.
  public var bodyBytes: Int64 = 256 << 20
  /// The largest body handed over as `Data`, in bytes; larger ones need ``DataService/streams(for:policy:progress:)``.
  public var dataBytes: Int64 = 32 << 20
  /// The largest field section of an answer, its 1xx heads included, in bytes; a larger one fails with `protocol`.
  public var fieldSectionBytes = 256 << 10
  /// The largest number of fields, counted likewise; more fail with `protocol`.
  public var fieldCount = 1_000
  /// The largest number of redirects followed; 0 delivers the first redirect itself.
  public var redirects = 10
  /// How long making the connection may take, name lookup and TLS included.
  public var connectTimeout: Duration = .seconds(5)
  /// How long the first byte of the answer may take once the request is sent.
  public var firstByteTimeout: Duration = .seconds(30)
  /// How long the network may be silent in the middle of an answer.
  public var idleTimeout: Duration = .seconds(30)
  /// How long the whole load may take, retries and redirects included.
  public var totalTimeout: Duration = .seconds(600)
  /// How many times a GET, a HEAD or a marked read is tried again after a failure that may pass.
  public var retries = 2

  /// The default limits.
  public init() {}
}

// For a program that has a type of that name, as beside swift-http-types: `DataService.HTTPFields`.
extension DataService {
  /// ``Limits``, where another module has a type of that name.
  public typealias Limits = DataService::Limits
  /// The fields of a request or response, where another module has a type of that name.
  public typealias HTTPFields = CacheStore::HTTPFields
  /// ``RequestMethod``, where another module has a type of that name.
  public typealias RequestMethod = DataService::RequestMethod
  /// ``FetchPolicy``, where another module has a type of that name.
  public typealias FetchPolicy = DataService::FetchPolicy
  /// ``DataServiceError``, where another module has a type of that name.
  public typealias DataServiceError = DataService::DataServiceError
}

extension DataService.Request {
  /// The pin and the tags that the row is to get.
  var marks: RowMarks { RowMarks(isPinned: isPinned, tags: tags) }
}
