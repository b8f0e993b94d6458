public import CacheStore
public import PlatformFoundation

extension DataService {
  /// A response: the caller's value, and the head it came with.
  public struct Response<Value: Sendable>: Sendable {
    /// The body, or what the caller's decoder made of it.
    public let value: Value
    /// The response's head.
    public var head: ResponseHead { shared.value }
    private let shared: Box<ResponseHead>

    package init(value: Value, head: ResponseHead) { self.init(value: value, head: Box(head)) }

    init(value: Value, head: Box<ResponseHead>) {
      self.value = value
      shared = head
    }

    /// The same response with another value.
    public func map<Other: Sendable, Failure: Error>(
      _ transform: (Value) throws(Failure) -> Other
    ) throws(Failure) -> Response<Other> {
      .init(value: try transform(value), head: shared)
    }

    /// Where it came from.
    public var source: Source { shared.value.source }
    /// The status code.
    public var status: Int { shared.value.status }
    /// The fields.
    public var fields: HTTPFields { shared.value.fields }
    /// The URL that answered, after redirects.
    public var url: URL { URL(string: head.url) ?? head.requestURL }
    /// When it was received, or last validated.
    public var receivedAt: Date { Date(timeIntervalSince1970: Double(head.receivedAtMilliseconds) / 1000) }
    /// Its age (RFC 9111 section 4.2.3); zero for a row from the future.
    public var age: Duration { head.age }
    /// Whether it is stale by RFC 9111 section 4.2.
    public var isStale: Bool { head.isStale }
    /// Whether a 304 has just confirmed it.
    public var wasValidated: Bool { shared.value.wasValidated }
    /// Whether it is in the store, and why not.
    public var kept: Kept { shared.value.kept }
    /// Whether a fresh response is shared with the fleet, and why not; `nil` without a fleet, and for stored ones.
    package var sharing: Shared? { shared.value.sharing }
  }

  /// A response without its body.
  public struct ResponseHead: Sendable, Equatable {
    /// `1.0`, `1.1` or `2`; `0` for a response that the program itself stored.
    public var version: String
    /// The status code.
    public var status: Int
    /// The reason phrase, empty where there was none.
    public var reason: String
    /// The fields.
    public var fields: HTTPFields
    /// The 1xx responses before it; empty for a stored one.
    public var interim: [TransportResponse.Interim]
    /// The number of redirects followed; 0 for a stored response, and if another process followed them.
    public var redirects = 0
    /// The URL that answered, after redirects; secret query values are replaced by digests.
    public var url: String
    /// The URL that was asked for.
    package var requestURL: URL
    /// The account's name in the store; empty for none.
    public var account: String
    /// When it was received or last validated, in milliseconds since 1970-01-01 UTC.
    package var receivedAtMilliseconds: Int64
    /// The inputs for its age and staleness.
    package var freshness: FreshnessInputs
    /// Whether a 304 has just confirmed it.
    public var wasValidated: Bool
    /// Whether it is in the store, and why not.
    public var kept: Kept
    /// How long the load took until this delivery was ready.
    public var elapsed: Duration
    /// The length of the body in bytes where it is known.
    public var bodyLength: Int64?
    /// The reason for the exchange; `nil` for a stored response, and if unknown.
    package var forward: CacheStatus.Forward?
    /// The freshness inputs of the stored response at the time of the exchange: if it was stale, that was the reason.
    package var staleReference: FreshnessInputs?
    /// When the exchange that brought it began; decides which of two responses to a request is newer (law 8).
    package var started: StartMark?
    /// Whether it is another machine's.
    package var isFromElsewhere = false
    /// Whether a fresh response is shared with the fleet, and why not; `nil` without a fleet, and for stored ones.
    package internal(set) var sharing: Shared?

    /// Where it came from.
    public var source: Source { Source(isStored: freshness.isStored, isFromElsewhere: isFromElsewhere) }
    /// Its age when it was delivered (RFC 9111 section 4.2.3).
    public var age: Duration { .milliseconds(freshness.age) }
    /// Whether it was stale then (section 4.2).
    public var isStale: Bool { freshness.isStale }

    /// `Cache-Status` (RFC 9211) as this cache writes it.
    public var cacheStatus: String {
      if freshness.isStored {
        return CacheStatus(
          isHit: true, timeToLive: freshness.secondsLeft, detail: isFromElsewhere ? source.rawValue : nil
        ).formatted
      }
      return CacheStatus(
        forward: forwardReason, forwardStatus: wasValidated ? 304 : status, isStored: kept == .yes
      ).formatted
    }

    /// Whether, as a stored response, it is all that a load of this policy delivers, by the clock at its delivery;
    /// under `http`, whose rules need the request too, never.
    public func satisfies(_ policy: FetchPolicy) -> Bool {
      switch policy.kind {
      case .storedThenFresh(let age?): freshness.isRecent(within: age.clampedNanoseconds / 1_000_000)
      case .storedElseFresh(let maxAge, _): freshness.isYoung(maxAge: maxAge.clampedNanoseconds / 1_000_000)
      case .storedOnly: true
      case .storedThenFresh, .freshOnly, .freshElseStored, .http: false
      }
    }

    /// The status with its reason phrase, where there was one: `404 Not Found`.
    public var statusText: String { Self.text(status, reason) }

    static func text(_ status: Int, _ reason: String) -> String {
      reason.isEmpty ? String(status) : "\(status) \(reason)"
    }

    private var forwardReason: CacheStatus.Forward {
      if let forward { return forward }
      if let staleReference { return staleReference.isStale ? .stale : .request }
      return wasValidated ? .stale : .uriMiss
    }
  }
}

extension DataService.Response: Equatable where Value: Equatable {
  /// Equal if value and head are, including the elapsed time, so responses of two loads usually differ.
  public static func == (first: Self, second: Self) -> Bool {
    first.value == second.value && first.head == second.head
  }
}

extension DataServiceError {
  /// The origin's answer, if its status is the failure: its head, and its body if that may be delivered as `Data`.
  public var response: DataService.Response<Data>? {
    (answered as? Box<DataService.Response<Data>>)?.value
  }

  /// Makes the failure that a load delivers for an answer's status, for previews and tests.
  public static func status(of response: DataService.Response<Data>) -> DataServiceError {
    .status(
      "\(response.url.host() ?? "the server") answered \(response.head.statusText)", status: response.status,
      retryAfter: RetryAfter.delay(
        status: response.status, fields: response.fields, now: response.head.receivedAtMilliseconds),
      response: response)
  }

  /// The failure for an answer's status.
  static func status(
    _ message: String, status: Int, retryAfter: Duration?, response: DataService.Response<Data>?
  ) -> DataServiceError {
    DataServiceError(
      .status, message, remedy: nil, status: status, retryAfter: retryAfter,
      answered: response.map { Box($0) })
  }
}

extension DataServiceError: Equatable {
  /// Equal if all their properties are; the underlying errors, which may have any type, are not compared.
  public static func == (first: Self, second: Self) -> Bool {
    first.kind == second.kind && first.status == second.status && first.retryAfter == second.retryAfter
      && first.message == second.message
      && first.remedy == second.remedy && first.response == second.response
  }
}

// For previews, tests of views and decoders, and stand-ins for the service. The service itself accepts no such
// response.
extension DataService.Response {
  /// Makes a response by hand, such as a load would deliver.
  ///
  /// Whether it is stale follows from its fields and its age; without `Cache-Control` it is.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - source: The claimed source: `fresh` in a ``DataService/Delivery/fresh(_:_:)``, another in a
  ///     ``DataService/Delivery/stored(_:)``.
  ///   - status: The status code.
  ///   - fields: The fields.
  ///   - url: The URL that answered; `nil` gives a URL that cannot exist.
  ///   - receivedAt: When it was received.
  ///   - age: Its age at delivery, in addition to the age that its fields state (`Age`, `Date`).
  ///   - wasValidated: Whether a 304 has just confirmed it.
  ///   - kept: Whether it is in the store, and why not.
  public init(
    _ value: Value, source: DataService.Source, status: Int = 200, fields: HTTPFields = [:],
    url: URL? = nil, receivedAt: Date = Date(), age: Duration = .zero, wasValidated: Bool = false,
    kept: DataService.Kept = .yes
  ) {
    let url = url ?? reservedURL
    let received = Int64((receivedAt.timeIntervalSince1970 * 1000).rounded())
    let freshness = FreshnessInputs(
      status: status, fields: fields, requestedAt: received, receivedAt: received,
      now: received.plus(age.clampedNanoseconds / 1_000_000), isStored: source != .fresh)
    var head = DataService.ResponseHead(
      version: "1.1", status: status, reason: "", fields: fields, interim: [], url: url.absoluteString,
      requestURL: url, account: "", receivedAtMilliseconds: received, freshness: freshness,
      wasValidated: wasValidated, kept: kept, elapsed: .zero,
      bodyLength: (value as? Data).map { Int64($0.count) })
    head.isFromElsewhere = source.isElsewhere
    self.init(value: value, head: head)
  }
}

/// A URL with a reserved host name that no server can have (RFC 6761 section 6.4).
private let reservedURL = URL(string: "https://origin.invalid/") ?? URL(filePath: "/")
