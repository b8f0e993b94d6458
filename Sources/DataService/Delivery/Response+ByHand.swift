public import CacheStore
public import PlatformFoundation

// For previews, tests of views and decoders, and stand-ins for the service. The service itself accepts no such
// response.
extension DataService.Response {
  /// Makes a response by hand, such as a load would deliver.
  ///
  /// Whether it is stale follows from its fields and its age; without `Cache-Control` it is.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - source: The claimed source: `stored` or `tier` in a ``DataService/Delivery/stored(_:)``, `fresh` in a
  ///     ``DataService/Delivery/fresh(_:_:)``.
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
    head.isFromTier = source == .tier
    self.init(value: value, head: head)
  }
}

/// A URL with a reserved host name that no server can have (RFC 6761 section 6.4).
private let reservedURL = URL(string: "https://origin.invalid/") ?? URL(filePath: "/")
