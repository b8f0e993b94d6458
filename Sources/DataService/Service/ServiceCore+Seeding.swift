internal import CacheStore
internal import PlatformFoundation

extension ServiceCore {
  /// Stores a program's own response, which no origin has sent, as the row that answers the request.
  func seed(
    _ body: Data, for request: DataService.Request, fields: HTTPFields, receivedAt: Date?
  ) async throws(DataServiceError) -> DataService.Kept {
    // Taken first: every exchange that begins from here on is newer (law 8).
    let started = timekeeper.startMark
    let prepared = try prepare(request, policy: .storedOnly)
    guard !prepared.isPassThrough, !prepared.isHead else {
      throw DataServiceError(
        .invalidRequest, "nothing can be stored for this request: its answers are never stored",
        hint: "store for a GET, or for a request marked as a read")
    }
    guard Int64(body.count) <= request.limits.bodyBytes else {
      throw DataServiceError(
        .tooLarge, "the body is larger than the limit of \(Counted.text(request.limits.bodyBytes, "byte"))",
        remedy: .largerBody)
    }
    do throws(CacheStoreError) {
      let accountID = try await store.accountID(named: prepared.key.account)
      let found = try await lookup(prepared)
      let replaced = select(from: found, for: prepared)
      // A date that no clock can show counts as none.
      let given = receivedAt.flatMap { Int64(exactly: ($0.timeIntervalSince1970 * 1000).rounded()) }
      let now = given ?? timekeeper.wallMilliseconds
      var storable = StoredFields.storable(fields, secretNames: secretFieldNames)
      for name in Self.ofOrigins { storable.remove(name) }
      let head = ReceivedHead(
        status: 200, fields: storable, version: StoredResponse.localVersion, started: started, receivedAt: now
      )
      var write = ResponseStore.Write(accountID: accountID, key: prepared.key, head: head, body: .bytes(body))
      write.vary = replaced?.vary ?? Self.newestNames(in: found.rows)
      write.variant =
        replaced?.variant
        ?? Vary.variant(names: write.vary, requestFields: prepared.fields, protect: protect)
      write.isPinned = request.isPinned
      write.tags = request.tags
      guard case .stored = try await store.overwrite(write) else { return .no(.superseded) }
      return .yes
    } catch {
      throw DataServiceError(store: error)
    }
  }

  /// The names in `Vary` by which the origin has last told the request's variants apart. Without them the row would
  /// match every request, and hide the variants of others.
  private static func newestNames(in rows: [StoredResponse]) -> String {
    rows.filter { $0.vary != "*" }.max { $0.receivedAt < $1.receivedAt }?.vary ?? ""
  }

  /// Fields that only an origin may set: with a false validator, the origin would confirm a body that it never sent.
  private static let ofOrigins = ["ETag", "Last-Modified", "Vary", "Age", "Content-Encoding"]
}
