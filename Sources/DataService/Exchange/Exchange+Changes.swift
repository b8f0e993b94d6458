internal import CacheStore
internal import PlatformFoundation

// Sign-outs and unsafe requests: notices that the account was signed out, and invalidates what an unsafe
// request changed.
extension Exchange {
  /// Learns which account this is, if it has a row, so that a sign-out from now on is noticed.
  /// - Returns: Whether the store has answered.
  @discardableResult nonisolated(nonsending) func learnGeneration() async -> Bool {
    let learnt = await core.commitWaiting.result { [generation] () async throws(CacheStoreError) in
      try await generation.learn()
    }
    return learnt != nil
  }

  /// Throws `signedOut` if the account was signed out meanwhile: its answer is not delivered, stored or not.
  nonisolated(nonsending) func checkGeneration() async throws(DataServiceError) {
    guard !prepared.key.account.isEmpty, generation.hasBegun else { return }
    let isRevoked = await core.commitWaiting.result {
      [core, generation] () async throws(CacheStoreError) -> Bool in
      // The row may have been made, and be gone again, before this exchange has learnt of it.
      guard let id = try await generation.begun() else { return false }
      return try await core.store.isRevoked(accountID: id)
    }
    // If the store does not answer, or was replaced, nothing says that the account was signed out.
    if case .success(true) = isRevoked { throw DataServiceError.signedOut }
  }

  /// The failure to publish: that the account was signed out, if it was, so that no load falls back on what is stored.
  nonisolated(nonsending) func unlessSignedOut(_ failure: DataServiceError) async -> DataServiceError {
    guard ![.signedOut, .closed, .cancelled].contains(failure.kind) else { return failure }
    do throws(DataServiceError) { try await checkGeneration() } catch { return error }
    return failure
  }

  /// Invalidates the stored responses that an unsafe request has made out of date (RFC 9111 section 4.4): those of its
  /// account, and those of no account, of everything that was asked for before this answer. The origin may have made
  /// the change at any time until then.
  ///
  /// Called for each hop as soon as its head is here: the change is made, whatever becomes of the body and of
  /// further hops.
  nonisolated(nonsending) func invalidate(after response: TransportResponse, to hop: RedirectRule.Hop) async {
    guard !hop.method.isSafe, !prepared.request.isRead, let url = try? hop.url.foundationURL() else {
      return
    }
    let targets = Invalidation.targets(
      method: hop.method, url: url, status: response.status, fields: response.fields)
    guard !targets.isEmpty else { return }
    let keys = targets.compactMap { (try? NormalisedURL($0.absoluteString)).map(core.redacted) }
    let accounts = Set(["", prepared.key.account])
    let answered = core.timekeeper.startMark
    core.outdateExchanges { accounts.contains($0.account) && keys.contains($0.target) }
    let done = await core.commitWaiting.result { [core] () async throws(CacheStoreError) in
      for account in accounts {
        try await core.store.invalidate(accountName: account, targets: keys, started: answered)
      }
    }
    if case .failure(let error) = done { core.warn(store: error) }
    invalidateInTier(keys)
  }
}

extension DataServiceError {
  static let signedOut = DataServiceError(
    .signedOut, "the account was signed out while the request was under way")
}
