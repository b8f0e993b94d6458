internal import Guards
public import PlatformFoundation

/// A body that arrives in pieces. It can be read once, and by pulling, so that a slow reader slows the sender down.
///
/// Stored bytes throw `corrupt`, `replaced` or `store`; a body that is delivered while it arrives throws the exchange's
/// error. Both throw `signedOut` where the account is signed out meanwhile, and `closed` where the service is closed.
public struct TransportBody: AsyncSequence, Sendable {
  /// A piece of the body.
  public typealias Element = Data
  /// What ends a body early.
  public typealias Failure = DataServiceError

  private enum Source: Sendable {
    case whole(OnePiece)
    case pulled(@Sendable () async throws(DataServiceError) -> Data?)
  }

  /// The length of the whole body in bytes, if known in advance.
  public let length: Int64?
  private let source: Source

  /// A stream of the pieces that `next` returns, until it returns `nil`.
  public init(length: Int64?, next: @escaping @Sendable () async throws(DataServiceError) -> Data?) {
    // A transport may pass on what a field says, or the -1 by which URLSession knows no length.
    self.length = length.flatMap { $0 < 0 ? nil : $0 }
    source = .pulled(next)
  }

  /// A stream of bytes in memory.
  public init(whole data: Data) {
    length = Int64(data.count)
    source = .whole(OnePiece(data))
  }

  /// The whole body, if it is in memory and nothing has been read from it.
  package var whole: Data? {
    guard case .whole(let piece) = source else { return nil }
    return piece.peek()
  }

  /// The next piece, or `nil` at the end.
  @concurrent public func next() async throws(DataServiceError) -> Data? {
    switch source {
    case .whole(let piece): piece.take()
    case .pulled(let next): try await next()
    }
  }

  /// Iterates over the stream's pieces.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let stream: TransportBody
    /// The next piece, or `nil` at the end.
    public mutating func next() async throws(DataServiceError) -> Data? { try await stream.next() }
    /// The next piece, or `nil` at the end.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(DataServiceError) -> Data? { try await stream.next() }
  }

  /// An iterator; all iterators of a stream share its one pass.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: self) }
}

/// Bytes that can be taken once.
private final class OnePiece: Sendable {
  private let data: Guarded<Data?>
  init(_ data: Data) { self.data = Guarded(data) }

  func peek() -> Data? { data.withLock { $0 } }

  func take() -> Data? {
    data.withLock { data in
      defer { data = nil }
      return data?.isEmpty == true ? nil : data
    }
  }
}

extension DataService {
  /// A body that arrives piece by piece.
  public typealias BodyStream = TransportBody
}
