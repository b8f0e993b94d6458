internal import CacheStore

extension ServiceCore {
  /// Explains how the request would be answered; reads the store only, never the network.
  func explain(
    _ request: DataService.Request, policy: FetchPolicy?
  ) async throws(DataServiceError) -> DataService.Explanation {
    let prepared = try prepare(request, policy: .storedOnly)
    let found: ResponseStore.Lookup
    do throws(CacheStoreError) {
      found = try await lookup(prepared)
    } catch {
      throw DataServiceError(store: error)
    }
    // Pauses are recorded in the store, and the lookup has just reported its error.
    let pause = try? store.pauseNow(
      accountName: prepared.key.account, responder: prepared.responder(of: prepared.url))
    var subject = Explain.Subject(
      key: prepared.key, method: request.method, fields: prepared.fields, isRead: request.isRead,
      keepsAnyway: request.keepsAnyway, url: prepared.shownURL, rows: found.rows,
      now: timekeeper.wallMilliseconds)
    if let left = (pause ?? nil)?.remaining(at: timekeeper.startMark) {
      subject.pausedUntil = timekeeper.wallMilliseconds + left
    }
    switch policy?.kind {
    case .storedThenFresh(let age?): subject.recent = age.clampedNanoseconds / 1_000_000
    case .storedElseFresh(let maxAge): subject.maxAge = maxAge.clampedNanoseconds / 1_000_000
    case .freshElseStored(let deadline, _):
      subject.deadline = deadline.map { $0.clampedNanoseconds / 1_000_000 }
    default: break
    }
    return Explain.explanation(of: subject, protect: protect)
  }
}
