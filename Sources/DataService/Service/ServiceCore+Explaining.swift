internal import CacheStore

extension ServiceCore {
  /// Why the request is answered as it is; asks the store only, never the network.
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
    // Without the store nothing is known of a pause, and the look-up has just said what is wrong with it.
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
