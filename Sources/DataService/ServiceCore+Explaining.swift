internal import CacheStore

extension ServiceCore {
  /// Why the request is answered as it is; asks the store only, never the network.
  func explain(_ request: DataService.Request) async throws(DataServiceError) -> DataService.Explanation {
    let prepared = try prepare(request, policy: .storedOnly)
    let found: ResponseStore.Lookup
    do throws(CacheStoreError) {
      found = try await lookup(prepared)
    } catch {
      throw DataServiceError(store: error)
    }
    let subject = Explain.Subject(
      key: prepared.key, method: request.method, fields: prepared.fields, isRead: request.isRead,
      keepsAnyway: request.keepsAnyway, url: prepared.shownURL, rows: found.rows,
      now: timekeeper.wallMilliseconds)
    return Explain.explanation(of: subject, protect: protect)
  }
}

extension DataService {
  /// Why a request is answered as it is: the key, the variants, every term of freshness, what each policy does, and
  /// what would change that. Asks the store, never the network.
  ///
  /// - Throws: `invalidRequest`, or what keeps the store from being read.
  public func explain(_ request: Request) async throws(DataServiceError) -> Explanation {
    try await core.explain(request)
  }
}
