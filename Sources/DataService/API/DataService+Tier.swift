public import CacheStore

extension DataService {
  /// What a removal from the fleet has done.
  public struct FleetRemoval: Sendable, Hashable {
    /// How many rows of the local store were removed.
    public var rows: Int
    /// Of how many requests the tier has not confirmed that its rows are void.
    public var unconfirmed: Int

    /// Makes one by hand, for tests.
    public init(rows: Int, unconfirmed: Int) {
      self.rows = rows
      self.unconfirmed = unconfirmed
    }
  }

  /// Removes stored responses here, and makes what the fleet's second tier has of the same requests void: other machines see
  /// that when they next ask it. What they have taken in stays theirs.
  ///
  /// Of a selection for a request (``selection(for:)``) the tier's rows go whether or not anything is stored here; of any
  /// other, those of the rows that are. Can be called from any thread; waits for the tier no longer than its patience for each
  /// request.
  /// - Returns: How many were removed here, and of how many requests the tier has not confirmed it.
  /// - Throws: `store` where the store cannot be used.
  @discardableResult public func removeFromFleet(
    _ selection: EntrySelection
  ) async throws(DataServiceError) -> FleetRemoval {
    var keys = try await entries(selection).map(\.key)
    if let key = selection.key { keys.append(key) }
    let removed = try await remove(selection)
    return FleetRemoval(rows: removed, unconfirmed: await voidInTier(keys))
  }

  /// Makes what the tier has of these requests void.
  /// - Returns: Of how many of them the tier has not confirmed it.
  package func voidInTier(_ keys: [RequestKey]) async -> Int { await core.fencing(keys) }

  /// What `doctor` says of the tier; `nil` where none is configured.
  package func examineTier() async -> [TierFinding]? {
    guard let tier = core.tier() else { return nil }
    return await Task(executorPreference: core.thread) { await tier.examine() }.value
  }
}
