public import CacheStore
public import PlatformFoundation

extension DataService {
  /// What to ask for, and for whom.
  public struct Request: Sendable, Hashable {
    /// Where; `http` or `https`. User-info in it is sent as Basic credentials and never stored.
    public var url: URL
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
    /// Names under which the row can be listed and removed. A stored response that is delivered without an exchange
    /// gets them too, unless the policy is `storedOnly`, which changes nothing. With a name that has a control
    /// character in it the load fails with `invalidRequest`.
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
    /// judged by ``acceptedStatuses``. A stored response of another type is not delivered. No field is sent for it:
    /// ``fields`` say what is asked for, this says what is accepted.
    public var acceptedMediaTypes: [String] = []
    /// The statuses that an answer may have; `nil` is 200 to 299 for the forms that decode, and all for the others.
    /// Another status is a failure of the kind `status`, judged before any decoder: it carries the response with its
    /// body (``DataServiceError/response``), and what is stored stays as it is. Where something is stored, 408, 429 and
    /// 5xx are such a failure whatever is accepted here, unless the policy is `freshOnly` or `http`.
    public var acceptedStatuses: ClosedRange<Int>?
    /// How long a load whose refresh failed for want of a network retries, at growing intervals; `nil` never does. A
    /// request that changes something is repeated only if no part of it has been sent (RFC 9110 section 9.2.2).
    public var onlineWait: Duration?
    /// Whether the load fails, instead of waiting, if another process is already refreshing this.
    package var yieldsToOthers = false

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
