extension DataService {
  /// One delivery to the caller: at most one `stored`, then one of the others, or the end.
  public enum Delivery<Value: Sendable>: Sendable {
    /// The last good response.
    case stored(Response<Value>)
    /// The origin's answer, and how it compares with the stored response.
    case fresh(Response<Value>, Change)
    /// No fresh response is available; the last known response is attached.
    case failure(DataServiceError, lastKnown: Response<Value>?)
  }

  /// The progress of a transfer.
  public struct TransferProgress: Sendable, Hashable {
    /// Bytes received so far, decoded.
    public let received: Int64
    /// The expected number of bytes, if the origin announced it.
    public let expected: Int64?
    /// Makes one by hand, for a preview or a test.
    public init(received: Int64, expected: Int64?) {
      self.received = received
      self.expected = expected
    }
  }
}

extension DataService.Delivery {
  /// The delivered response, stored or fresh; `nil` for a failure, whose last known response does not count as
  /// delivered.
  public var response: DataService.Response<Value>? {
    switch self {
    case .stored(let response), .fresh(let response, _): response
    case .failure: nil
    }
  }

  /// The value of the delivered response; `nil` for a failure.
  public var value: Value? { response?.value }

  /// The error of a failure; `nil` otherwise.
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
