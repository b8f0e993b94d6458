public import CacheStore

extension DataService {
  /// What a removal from the fleet has done.
  public struct FleetRemoval: Sendable, Hashable {
    /// How many rows of the local store were removed.
    public var rows: Int
    /// The number of requests whose invalidation the tier did not confirm.
    public var unconfirmed: Int

    /// Makes one by hand, for tests.
    public init(rows: Int, unconfirmed: Int) {
      self.rows = rows
      self.unconfirmed = unconfirmed
    }
  }

  /// Removes stored responses here, and invalidates the rows that the fleet's second tier has of the same
  /// requests: other machines learn of it when they next ask the tier. Rows that they have already stored
  /// remain.
  ///
  /// A selection for one request (``selection(for:)``) invalidates the tier's rows even if nothing is stored
  /// here; any other selection invalidates those of the rows it removes here. Can be called from any thread;
  /// waits for the tier no longer than its patience in each round trip, of which a request takes up to three
  /// for each of the fleet's keys, and one more where its account is shared. A tier that does not answer is
  /// waited for once.
  /// - Returns: How many were removed here, and the number of requests whose invalidation the tier did not confirm.
  /// - Throws: `store` where the store cannot be used, `corrupt` where it is damaged and cannot be repaired,
  ///   `closed` after ``close()``.
  @discardableResult public func removeFromFleet(
    _ selection: EntrySelection
  ) async throws(DataServiceError) -> FleetRemoval {
    var keys = try await entries(selection).map(\.key)
    if let key = selection.key { keys.append(key) }
    let removed = try await remove(selection)
    return FleetRemoval(rows: removed, unconfirmed: await invalidateInTier(keys))
  }

  /// Invalidates the tier's rows of these requests.
  /// - Returns: The number of requests whose invalidation the tier did not confirm.
  package func invalidateInTier(_ keys: [RequestKey]) async -> Int { await core.invalidateInTier(keys) }

  /// The findings about the tier, for the check of a store; `nil` if no tier is configured.
  package func examineTier() async -> [TierFinding]? {
    guard core.configuration.tier != nil else { return nil }
    return await Task(executorPreference: core.thread) { [core] in await core.tier()?.examine() }.value
  }
}
