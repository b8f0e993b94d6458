internal import CacheStore
internal import Guards
internal import PlatformFoundation

extension ServiceCore {
  /// The row that answers the request, from a lookup's rows (RFC 9111 section 4.1).
  func select(from found: ResponseStore.Lookup, for prepared: PreparedRequest) -> StoredResponse? {
    let accepted = prepared.request.acceptedMediaTypes
    let statuses = prepared.request.acceptedStatuses
    return Vary.select(
      from: found.rows, requestFields: prepared.fields, protect: protect, besides: prepared.credentials
    ) { row in
      (prepared.isHTTP || row.isGood) && statuses?.contains(row.status) ?? true
        && MediaTypes.accepts(row.fields, accepted: accepted) && !isTooOld(row, for: prepared.request)
        && !(prepared.decodesContent && ContentCoding.isCoded(row.head))
    }
  }

  /// Whether the row is older than the request's `maxStale`.
  func isTooOld(_ row: StoredResponse, for request: DataService.Request) -> Bool {
    guard let limit = request.maxStale else { return false }
    return Freshness.age(of: row, now: timekeeper.wallMilliseconds) > limit.clampedNanoseconds / 1_000_000
  }

  /// Whether a row with that variant, and the names in `Vary` it is of, answers the request: a new response replaces it.
  func answering(_ prepared: PreparedRequest) -> @Sendable (_ variant: String, _ vary: String) -> Bool {
    { [self, fields = prepared.fields, credentials = prepared.credentials] variant, vary in
      Vary.matches(variant, of: vary, requestFields: fields, protect: protect, besides: credentials)
    }
  }

  /// A stored body as a stream: one chunk at a time, each verified before it is delivered.
  func stream(_ body: StoredResponse.Body) -> DataService.BodyStream {
    if body.isWhole { return DataService.BodyStream(whole: body.firstChunk) }
    let reading = BodyReading(body, in: store)
    return DataService.BodyStream(length: body.length) { () async throws(DataServiceError) -> Data? in
      do throws(CacheStoreError) {
        return try await self.door.ask(for: .reading) { (_) async throws(CacheStoreError) in
          try await reading.next()
        }.done()
      } catch {
        throw DataServiceError(store: error)
      }
    }
  }

  /// Any body as a stream.
  func stream(_ body: DeliveredBody) -> DataService.BodyStream {
    switch body {
    case .data(let data): DataService.BodyStream(whole: data)
    case .stored(let body): stream(body)
    case .live(let stream): stream
    }
  }

  /// The whole body in memory; throws `tooLarge` past the limit.
  func collect(_ body: DeliveredBody, limit: Int64) async throws(DataServiceError) -> Data {
    if case .data(let data) = body {
      guard Int64(data.count) <= limit else { throw Self.tooLargeForData(limit) }
      return data
    }
    if let length = body.length, length > limit { throw Self.tooLargeForData(limit) }
    var whole = Data()
    let stream = stream(body)
    while let piece = try await stream.next() {
      guard Int64(whole.count + piece.count) <= limit else { throw Self.tooLargeForData(limit) }
      whole.append(piece)
    }
    return whole
  }

  static func tooLargeForData(_ limit: Int64) -> DataServiceError {
    DataServiceError(
      .tooLarge, "the body is larger than the \(Counted.bytes(limit)) handed over as Data",
      hint: "use streams(for:), or raise Limits.dataBytes")
  }

  /// A URL that may be stored and shown, with secret query values replaced by digests.
  func redacted(_ url: NormalisedURL) -> String {
    KeyRule.redacted(url, secrets: configuration.secrets, digest: digest)
  }
}

extension ServiceCore {
  /// Explains how the request would be answered; reads the store only, never the network.
  func explain(
    _ request: DataService.Request, policy: FetchPolicy?
  ) async throws(DataServiceError) -> DataService.Explanation {
    let prepared = try prepare(request, policy: .storedOnly)
    let found: ResponseStore.Lookup
    do throws(CacheStoreError) {
      found = try await store.lookup(prepared.key)
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
    subject.decodesContent = prepared.decodesContent
    subject.credentials = prepared.credentials
    if let left = (pause ?? nil)?.remaining(at: timekeeper.startMark) {
      subject.pausedUntil = timekeeper.wallMilliseconds + left
    }
    switch policy?.kind {
    case .storedThenFresh(let age?): subject.recent = age.clampedNanoseconds / 1_000_000
    case .storedElseFresh(let maxAge, _): subject.maxAge = maxAge.clampedNanoseconds / 1_000_000
    case .freshElseStored(let deadline, _):
      subject.deadline = deadline.map { $0.clampedNanoseconds / 1_000_000 }
    default: break
    }
    var explanation = Explain.explanation(of: subject, protect: protect)
    if let upstream {
      switch upstream.verdict(on: select(from: found, for: prepared), to: question(prepared)) {
      case .yes: explanation.isShared = true
      case .no(let reason):
        explanation.isShared = false
        explanation.unsharedReason = reason.text
      }
    }
    return explanation
  }
}

extension ServiceCore {
  /// Stores a program's own response, which no origin has sent, as the row that answers the request.
  struct Seed: Sendable {
    var body: Data
    var fields: HTTPFields
    var isFromOrigin = false
    var receivedAt: Date?
    /// Whether it can be taken back; it then gets no marks, and replaces the row of its own variant alone.
    var isProvisional = false
  }

  /// What a program has stored, if it was, and what was there before.
  struct Seeded: Sendable {
    let bodyLimit: Int64
    var row: ResponseStore.LocalRow?
    var before: ResponseStore.Write?

    var kept: DataService.Kept { row == nil ? .no(.superseded) : .yes }
  }

  func store(
    _ seed: Seed, for request: DataService.Request
  ) async throws(DataServiceError) -> Seeded {
    let body = seed.body
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
        .tooLarge, "the body is larger than the limit of \(Counted.bytes(request.limits.bodyBytes))",
        remedy: .largerBody)
    }
    do throws(CacheStoreError) {
      let accountID = try await store.accountID(named: prepared.key.account)
      let found = try await store.lookup(prepared.key)
      let replaced = select(from: found, for: prepared)
      // A date that no clock can show counts as none.
      let given = seed.receivedAt.flatMap { Int64(exactly: ($0.timeIntervalSince1970 * 1000).rounded()) }
      let now = given ?? timekeeper.wallMilliseconds
      var storable = StoredFields.storable(seed.fields, secretNames: secretFieldNames)
      for name in Self.ofOrigins { storable.remove(name) }
      if !seed.isFromOrigin { for name in ["ETag", "Last-Modified"] { storable.remove(name) } }
      let head = ReceivedHead(
        status: 200, fields: storable, version: StoredResponse.localVersion, started: started, receivedAt: now
      )
      var write = ResponseStore.Write(accountID: accountID, key: prepared.key, head: head, body: .bytes(body))
      write.vary = replaced?.vary ?? Self.newestNames(in: found.rows)
      write.variant =
        replaced?.variant
        ?? Vary.variant(names: write.vary, requestFields: prepared.fields, protect: protect)
      let before = Guarded<StoredResponse?>(nil)
      if seed.isProvisional {
        write.onReplaced = { row in before.withLock { $0 = row } }
      } else {
        write.replaces = answering(prepared)
        write.marks = request.marks
      }
      var change = Seeded(bodyLimit: request.limits.bodyBytes)
      guard case .stored(let id, let stored) = try await store.overwrite(write) else { return change }
      change.row = ResponseStore.LocalRow(write, id: id, body: stored)
      change.before = before.withLock(\.self).map { row in
        var write = ResponseStore.Write(
          accountID: accountID, key: prepared.key, head: row.head, body: .sameAs(row.body))
        (write.variant, write.vary, write.changedAt) = (row.variant, row.vary, row.changedAt)
        (write.isInvalid, write.takesBack) = (row.isInvalid, change.row)
        return write
      }
      return change
    } catch {
      throw DataServiceError(store: error)
    }
  }

  /// Puts back what was stored before a change, if its row is still there.
  func takeBack(_ change: Seeded) async throws(DataServiceError) -> Bool {
    guard let row = change.row else { return false }
    var before = change.before
    if case .sameAs(let body) = before?.body {
      before?.body = .bytes(try await collect(.stored(body), limit: change.bodyLimit))
    }
    do throws(CacheStoreError) {
      guard let before else { return try await store.takeBack(row) }
      return try await store.overwrite(before).isStored
    } catch {
      throw DataServiceError(store: error)
    }
  }

  /// The names in `Vary` by which the origin has last told the request's variants apart. Without them the row would
  /// match every request, and hide the variants of others.
  private static func newestNames(in rows: [StoredResponse]) -> String {
    rows.filter { $0.vary != "*" }.max { $0.receivedAt < $1.receivedAt }?.vary ?? ""
  }

  /// Fields that only an origin may set. So are validators: with a false one, it would confirm a body that it never sent.
  private static let ofOrigins = ["Vary", "Age", "Content-Encoding"]
}

extension ServiceCore {
  /// Whether something is stored for the request, which gets its pin and tags with `marks`.
  func isStored(_ request: DataService.Request, marking marks: Bool) async -> Bool {
    guard let prepared = try? prepare(request, policy: .storedThenFresh), !prepared.isPassThrough,
      let found = try? await store.lookup(prepared.key), let row = select(from: found, for: prepared)
    else { return false }
    guard marks, request.marks.mayBeMissing(from: row) else { return true }
    await change { (store) async throws(CacheStoreError) in
      try await store.mark(row, request.marks)
    }
    return true
  }
}
