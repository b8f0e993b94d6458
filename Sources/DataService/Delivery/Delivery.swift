extension DataService {
  /// One thing handed to the caller. At most one `stored`, then one of the others, or the end.
  public enum Delivery<Value: Sendable>: Sendable {
    /// The last good response.
    case stored(Response<Value>)
    /// What the origin has just said, and how it compares.
    case fresh(Response<Value>, Change)
    /// Nothing fresh could be had; the last known response comes along.
    case failure(DataServiceError, lastKnown: Response<Value>?)
  }

  /// How far a transfer has come.
  public struct TransferProgress: Sendable, Hashable {
    /// Bytes received so far, decoded.
    public let received: Int64
    /// Bytes expected in all, where the origin said.
    public let expected: Int64?
    /// Makes one by hand, for a preview or a test.
    public init(received: Int64, expected: Int64?) {
      self.received = received
      self.expected = expected
    }
  }
}

extension DataService.Delivery {
  /// The response that is delivered, stored or fresh; `nil` for a failure, whose last known response is not delivered.
  public var response: DataService.Response<Value>? {
    switch self {
    case .stored(let response), .fresh(let response, _): response
    case .failure: nil
    }
  }

  /// The value of the response that is delivered; `nil` for a failure.
  public var value: Value? { response?.value }

  /// Why nothing fresh could be had; `nil` where it could.
  public var error: DataServiceError? {
    if case .failure(let error, _) = self { error } else { nil }
  }

  /// The same delivery with another value.
  package func map<Other: Sendable>(_ transform: (DataService.Response<Value>) -> DataService.Response<Other>)
    -> DataService.Delivery<Other>
  {
    switch self {
    case .stored(let response): .stored(transform(response))
    case .fresh(let response, let change): .fresh(transform(response), change)
    case .failure(let error, let lastKnown): .failure(error, lastKnown: lastKnown.map(transform))
    }
  }
}

extension DataService.Delivery: Equatable where Value: Equatable {}
