public import CacheStore
internal import Guards
public import PlatformFoundation

extension DataService {
  /// What is stored, in the order of account, target, method, the rest of the key, and variant. Sort by
  /// ``StoredEntry/usedAt`` for the newest use.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent public func entries(_ selection: EntrySelection = .all) async throws(DataServiceError)
    -> [StoredEntry]
  {
    try await storeOperation { (store) throws(CacheStoreError) in try await store.entries(selection) }
  }

  /// Stores a response that no origin has sent: data that comes with the program, or the expected result of a write in
  /// progress. Loads deliver it as `stored`, with ``Response/isLocal`` set, and observers see it at once.
  ///
  /// It takes the place of the stored response to the request, keeps that one's pin and tags, and counts as begun now:
  /// an exchange that began earlier does not overwrite it, one that begins later does. Without a validator the next
  /// refresh is unconditional. For the result of a write that may fail, ``storeProvisionally(_:for:fields:)`` can be
  /// taken back.
  ///
  /// Can be called from any thread; the work is done on the store's.
  /// - Parameters:
  ///   - body: The body, decoded; up to the request's ``Limits/bodyBytes`` and half the store's limit.
  ///   - request: The request it is to answer: a GET, or one marked as a read. Its `isPinned` and `tags` hold as in a
  ///     load.
  ///   - fields: `Content-Type`, for decoders that ask for it, or `Cache-Control`, for the `http` policy. `ETag`,
  ///     `Last-Modified`, `Vary`, `Age`, `Content-Encoding`, cookies and secret fields are left out.
  ///   - isFromOrigin: Whether the origin has sent exactly these bytes with these fields, as those of another cache that
  ///     are moved here. Then `ETag` and `Last-Modified` stay, and the next refresh can be a 304.
  ///   - receivedAt: When the data was right, for its age; `nil` is now. Data that comes with the program is as old as
  ///     that.
  /// - Returns: `.no(.superseded)` where an exchange that began later, or a removal, came first.
  /// - Throws: `invalidRequest` for a request whose answers are never stored, `tooLarge` for a body over the request's
  ///   limit, `store` where it cannot be stored (its message says why), `corrupt` where the store is damaged and cannot
  ///   be repaired, `signedOut` where the account is signed out meanwhile, `closed` after ``close()``.
  @concurrent @discardableResult public func store(
    _ body: Data, for request: Request, fields: HTTPFields = [:], isFromOrigin: Bool = false,
    receivedAt: Date? = nil
  ) async throws(DataServiceError) -> Kept {
    let seed = ServiceCore.Seed(
      body: body, fields: fields, isFromOrigin: isFromOrigin, receivedAt: receivedAt)
    return try await core.store(seed, for: request).kept
  }

  /// Stores the expected result of a write as ``store(_:for:fields:isFromOrigin:receivedAt:)`` does, and can take it
  /// back: `try await change.undo()` where the write has failed.
  ///
  /// The request's pin and tags are not applied. What was stored before stays in the store's file for as long as the
  /// change lives.
  @concurrent public func storeProvisionally(
    _ body: Data, for request: Request, fields: HTTPFields = [:]
  ) async throws(DataServiceError) -> ProvisionalChange {
    let seed = ServiceCore.Seed(body: body, fields: fields, isProvisional: true)
    return ProvisionalChange(core: core, seeded: try await core.store(seed, for: request))
  }

  /// A response that ``storeProvisionally(_:for:fields:)`` has stored.
  public struct ProvisionalChange: Sendable {
    let core: ServiceCore
    let seeded: ServiceCore.Seeded

    /// Whether it is stored; `.no(.superseded)` where an exchange that began later, or a removal, came first.
    public var kept: Kept { seeded.kept }

    /// Restores what was stored before, validators included, or removes the response where nothing was; unless anybody,
    /// in whatever process, has stored something else since, or removed it. Observers see it at once.
    /// - Returns: Whether it was restored.
    /// - Throws: As ``DataService/store(_:for:fields:isFromOrigin:receivedAt:)``.
    @concurrent @discardableResult public func undo() async throws(DataServiceError) -> Bool {
      try await core.takeBack(seeded)
    }
  }

  /// Removes stored responses. The answer of an exchange under way that the selection means is delivered and not kept,
  /// whether or not a row was there: a selection by size, by pin or by an age means none. With a selection by account, key,
  /// prefix, host or age, downloads that were cut off and could be resumed go with them.
  /// - Returns: How many were removed.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent @discardableResult public func remove(_ selection: EntrySelection)
    async throws(DataServiceError) -> Int
  {
    await core.outdateExchanges(where: selection.maySelect)
    // After it: an exchange that a load has asked for before this call has begun by now.
    let started = core.timekeeper.startMark
    return try await storeOperation { (store) throws(CacheStoreError) in
      try await store.remove(selection, started: started)
    }
  }

  /// Every row that is stored for a request, with all its variants: for ``entries(_:)``, ``remove(_:)``, ``unpin(_:)``
  /// and the like.
  /// - Throws: `invalidRequest`.
  public func selection(for request: Request) throws(DataServiceError) -> EntrySelection {
    var selection = EntrySelection.all
    selection.key = try core.prepare(request, policy: .storedOnly).key
    return selection
  }

  /// Allows stored responses to be evicted again that a request with `isPinned` has pinned.
  /// - Returns: How many were pinned.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent @discardableResult public func unpin(_ selection: EntrySelection) async throws(DataServiceError)
    -> Int
  {
    try await storeOperation { (store) throws(CacheStoreError) in try await store.unpin(selection) }
  }

  /// Takes a tag from stored responses.
  /// - Returns: How many had it.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent @discardableResult public func untag(
    _ selection: EntrySelection, tag: String
  ) async throws(DataServiceError) -> Int {
    try await storeOperation { (store) throws(CacheStoreError) in try await store.untag(selection, tag) }
  }

  /// Marks stored responses stale, however new they are: they are still delivered as `stored`, but the next load asks
  /// the origin under every policy that may, if there is a network. Observers see them once more, with `isStale` set.
  ///
  /// An exchange that is under way neither replaces nor confirms them, nor stores anything that the selection means, and
  /// no load that begins later joins it; an exchange that begins later does both.
  /// - Returns: How many were marked.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent @discardableResult public func invalidate(
    _ selection: EntrySelection
  ) async throws(DataServiceError) -> Int {
    await core.outdateExchanges(where: selection.maySelect)
    // After it: an exchange that a load has asked for before this call has begun by now.
    let started = core.timekeeper.startMark
    return try await storeOperation { (store) throws(CacheStoreError) in
      try await store.invalidate(selection, started: started)
    }
  }

  /// The limits set in the store itself, which take precedence over the configuration's, and the limits in force.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent public func limits() async throws(DataServiceError) -> (own: StoreLimits, inForce: StoreLimits)
  {
    do throws(CacheStoreError) {
      return try await core.store.limits()
    } catch {
      throw DataServiceError(store: error)
    }
  }

  /// Sets the store's own limits, for every process on it, and removes at once what exceeds them; `nil` leaves a limit
  /// to each program's configuration.
  ///
  /// A limit of bytes or rows is 1 or more: any other number sets none, as `nil` does. An age shorter than a
  /// millisecond counts as one millisecond.
  /// - Returns: How many stored responses were removed.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent @discardableResult public func setLimits(_ limits: StoreLimits) async throws(DataServiceError)
    -> Int
  {
    try await storeOperation { (store) throws(CacheStoreError) in try await store.setLimits(limits) }
  }

  /// Ends the pauses (`Retry-After`) that satisfy the condition, so that those origins are asked again.
  /// - Returns: How many were still in force.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent @discardableResult package func endPauses(
    where condition: @escaping @Sendable (StoredPause) -> Bool
  ) async throws(DataServiceError) -> Int {
    let now = core.timekeeper.startMark
    return try await storeOperation { (store) throws(CacheStoreError) in
      try await store.endPauses(at: now, where: condition)
    }
  }

  /// The pauses (`Retry-After`) that are still in force.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent package func pauses() async throws(DataServiceError) -> [StoredPause] {
    let now = core.timekeeper.startMark
    return try await storeOperation { (store) throws(CacheStoreError) in try await store.pauses(at: now) }
  }

  /// Signs an account out: its loads end with `signedOut`, its late answers are neither stored nor delivered, and its
  /// bytes are gone from the store when this returns.
  ///
  /// Of an account that the fleet shares, every shared row becomes unreadable, whichever machine offered it; what
  /// other machines have stored themselves remains theirs. A load that begins before the fleet's server has confirmed
  /// that ends too, and what it has stored is gone. A server that is only read is not told.
  /// - Returns: Whether the server has confirmed its part; `true` where it has none. Where it has not, a warning says
  ///   so, and what is there can be read until it expires: sign out again once the server answers.
  /// - Throws: `store`, naming the process that still holds bytes, where they cannot be removed; `corrupt` where the
  ///   store is damaged and cannot be repaired; `closed` after ``close()``; `invalidRequest` for `.automatic`, which
  ///   names no account.
  @concurrent @discardableResult public func signOut(_ account: Account) async throws(DataServiceError)
    -> Bool
  {
    guard case .named(let name) = account.kind else {
      throw DataServiceError(
        .invalidRequest, "an automatic account cannot be signed out",
        hint: "name it, as entries(_:) shows it")
    }
    try await signOutHere(name)
    guard let isConfirmed = await core.upstream?.signOut(name) else { return true }
    guard isConfirmed else { return false }
    // Until just now a load could begin, and store what others still had of the account.
    try await signOutHere(name)
    return true
  }

  private func signOutHere(_ name: String) async throws(DataServiceError) {
    core.state.withLock { $0.leaving.append(name) }
    defer { core.state.withLock { $0.end(leaving: name) } }
    await core.stop(.signedOut) { $0.key.account == name }
    try await storeOperation { (store) throws(CacheStoreError) in try await store.signOut(accountName: name) }
  }

  private func storeOperation<Value: Sendable>(
    _ operation: (ResponseStore) async throws(CacheStoreError) -> Value
  ) async throws(DataServiceError) -> Value {
    do throws(CacheStoreError) {
      return try await operation(core.store)
    } catch {
      throw DataServiceError(store: error)
    }
  }

  /// Why a request is answered as it is: the key, the variants, every term of freshness, what each policy does, and
  /// what would change that. Reads the store, never the network.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - policy: A policy whose age or deadline the explanation goes by; the verdicts are of every policy all the same.
  /// - Throws: `invalidRequest`, and `store`, `corrupt` or `closed` where the store cannot be read.
  @concurrent package func explain(
    _ request: Request, policy: FetchPolicy? = nil
  ) async throws(DataServiceError) -> Explanation {
    try await core.explain(request, policy: policy)
  }
}

extension DataService.Response {
  /// Whether the program itself has stored it (``DataService/store(_:for:fields:isFromOrigin:receivedAt:)``), and no origin has
  /// confirmed it since.
  public var isLocal: Bool { head.version == StoredResponse.localVersion }
}

extension DataService {
  /// What a removal from the fleet has done.
  public struct FleetRemoval: Sendable, Hashable {
    /// How many rows of the local store were removed.
    public var rows: Int
    /// The number of requests whose invalidation the fleet's server did not confirm.
    public var unconfirmed: Int

    /// Makes one by hand, for tests.
    public init(rows: Int, unconfirmed: Int) {
      self.rows = rows
      self.unconfirmed = unconfirmed
    }
  }

  /// Removes stored responses here, and invalidates the rows that the fleet's server has of the same requests:
  /// other machines learn of it when they next ask there. Rows that they have already stored remain.
  ///
  /// A selection for one request (``selection(for:)``) invalidates shared rows even if nothing is stored here; any
  /// other selection invalidates those of the rows it removes here. Can be called from any thread; waits for the
  /// server no longer than its patience in each round trip, of which a request takes up to three for each of the
  /// fleet's keys, and one more where its account is shared. A server that does not answer is waited for once.
  /// - Returns: How many were removed here, and the number of requests whose invalidation was not confirmed.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @concurrent @discardableResult public func removeFromFleet(
    _ selection: EntrySelection
  ) async throws(DataServiceError) -> FleetRemoval {
    var keys = try await entries(selection).map(\.key)
    if let key = selection.key { keys.append(key) }
    let removed = try await remove(selection)
    return FleetRemoval(rows: removed, unconfirmed: await core.invalidateUpstream(keys))
  }

  /// Invalidates the fleet's rows of these requests.
  /// - Returns: The number of requests whose invalidation was not confirmed.
  package func invalidateUpstream(_ keys: [RequestKey]) async -> Int { await core.invalidateUpstream(keys) }

  /// What is found of the upstream, for the check of a store; `nil` without one.
  package func examineUpstream() async -> [StoreFinding]? { await core.upstream?.examine() }
}

extension DataService {
  /// Keeps exchanges under way from storing what the selection means, as ``remove(_:)`` does, and removes nothing.
  package func fence(_ selection: EntrySelection) async throws(DataServiceError) {
    let started = core.timekeeper.startMark
    try await storeOperation { (store) throws(CacheStoreError) in
      try await store.fence(selection, started: started)
    }
  }

  /// Whether something is stored for the request; asks nobody.
  /// - Parameter marks: Whether it gets the request's pin and tags.
  package func isStored(_ request: Request, marking marks: Bool) async -> Bool {
    await core.isStored(request, marking: marks)
  }
}
