public import CacheStore
public import PlatformFoundation

extension DataService {
  /// Stores a response that no origin has sent: data that comes with the program, or what a write that is under way will
  /// most likely make of it. Loads deliver it as `stored`, with ``Response/isLocal`` set, and observers see it at once.
  ///
  /// It takes the place of the stored response to the request, keeps that one's pin and tags, and counts as begun now: an exchange
  /// that began earlier does not overwrite it, one that begins later does. It has no validator, so the next refresh is
  /// unconditional. Has the write failed, ``remove(_:)`` or a load with `freshOnly` corrects it.
  ///
  /// Can be called from any thread; the work is done on the store's.
  /// - Parameters:
  ///   - body: The body, decoded; up to the request's ``Limits/bodyBytes`` and half the store's limit.
  ///   - request: The request it is to answer: a GET, or one marked as a read. Its `isPinned` and `tags` hold as in a load.
  ///   - fields: `Content-Type`, for decoders that ask for it, or `Cache-Control`, for the `http` policy. `ETag`, `Last-Modified`,
  ///     `Vary`, `Age`, `Content-Encoding`, cookies and secret fields are left out.
  ///   - receivedAt: When the data was right, for its age; `nil` is now. Data that comes with the program is as old as that.
  /// - Returns: `.no(.superseded)` where an exchange that began later, or a removal, came first.
  /// - Throws: `invalidRequest` for a request whose answers are never stored, `tooLarge`, and `store` where it cannot be
  ///   stored: its message says why.
  @discardableResult public func store(
    _ body: Data, for request: Request, fields: HTTPFields = [:], receivedAt: Date? = nil
  ) async throws(DataServiceError) -> Kept {
    try await core.seed(body, for: request, fields: fields, receivedAt: receivedAt)
  }
}

extension DataService.Response {
  /// Whether the program itself has stored it (``DataService/store(_:for:fields:receivedAt:)``), and no origin has said it since.
  public var isLocal: Bool { head.version == StoredResponse.localVersion }
}
