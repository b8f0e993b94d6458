package import CacheStore

extension DataService {
  /// The key under which a request's answer is stored.
  /// - Throws: `invalidRequest` naming the thing that is wrong.
  package func key(for request: Request) throws(DataServiceError) -> RequestKey {
    try core.prepare(request, policy: .storedOnly).key
  }
}
