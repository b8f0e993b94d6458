public import PlatformFoundation

extension DataService {
  /// The newest stored response to a request, now and after each change; `nil` while there is none. See
  /// ``changes(to:)``.
  public struct Changes: AsyncSequence, Sendable {
    /// A stored response, or that there is none.
    public typealias Element = Response<Data>?
    /// `store` or `invalidRequest`.
    public typealias Failure = DataServiceError

    let source: any DeliverySource
    let request: Request

    /// Observes from its first `next()` on, while it exists.
    public struct AsyncIterator: AsyncIteratorProtocol {
      /// A stored response, or that there is none.
      public typealias Element = Response<Data>?
      /// `store` or `invalidRequest`.
      public typealias Failure = DataServiceError

      let source: any DeliverySource
      let request: Request
      var elements: AsyncThrowingStream<Response<Data>?, any Error>.AsyncIterator?

      /// The next change; `nil` at the end.
      public mutating func next() async throws(DataServiceError) -> Response<Data>?? {
        try await next(isolation: nil)
      }

      /// The next change; `nil` at the end.
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(DataServiceError) -> Response<Data>?? {
        do {
          if elements == nil {
            let located = try await source.located(request)
            elements = source.service.core.changes(to: located).makeAsyncIterator()
          }
          return try await elements?.next(isolation: actor)
        } catch let error as DataServiceError {
          throw error
        } catch {
          throw DataServiceError(.cancelled, "the changes are no longer observed")
        }
      }
    }

    /// Prepares to observe.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(source: source, request: request)
    }
  }
}
