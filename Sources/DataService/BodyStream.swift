public import FoundationEssentials

extension DataService {
  /// A body that arrives piece by piece: one pass, and pulled, so that a slow reader slows the sender down.
  ///
  /// Throws `corrupt`, `replaced` or `signedOut` for stored bytes, and the exchange's error for a body that is
  /// delivered while it arrives.
  public struct BodyStream: AsyncSequence, Sendable {
    public typealias Element = Data
    public typealias Failure = DataServiceError

    /// The whole length in bytes where it is known in advance.
    public let length: Int64?
    private let pull: @Sendable () async throws(DataServiceError) -> Data?

    /// A stream of what `next` returns, until it returns `nil`.
    public init(length: Int64?, next: @escaping @Sendable () async throws(DataServiceError) -> Data?) {
      self.length = length
      pull = next
    }

    /// The next piece, or `nil` at the end.
    public func next() async throws(DataServiceError) -> Data? { try await pull() }

    public struct AsyncIterator: AsyncIteratorProtocol {
      let stream: BodyStream
      public mutating func next() async throws(DataServiceError) -> Data? { try await stream.next() }
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(DataServiceError) -> Data? { try await stream.next() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: self) }
  }
}
