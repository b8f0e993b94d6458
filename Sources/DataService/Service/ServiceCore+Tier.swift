internal import CacheStore
internal import Guards
internal import PlatformFoundation
internal import Synchronization

// The service's use of the fleet's second tier. A load that the local store answers never reaches this code.
extension ServiceCore {
  /// The tier, given what it works with before its first use; `nil` where none is configured. Called on the
  /// network thread alone, so that no caller gets a tier that is still being attached.
  func tier() -> (any SecondTier)? {
    guard let tier = tierEngine else { return nil }
    guard !isTierAttached.load(ordering: .relaxed) else { return tier }
    let (onTrace, onWarning) = (configuration.onTrace, configuration.onWarning)
    tier.attach(
      to: TierHost(
        timekeeper: timekeeper, silence: StoreSilenceMark(store), trace: { onTrace?($0) },
        warn: { onWarning?($0) }))
    // A thread that reads `true` finds the tier attached.
    isTierAttached.store(true, ordering: .releasing)
    return tier
  }

  /// What the sharing rule looks at in a request.
  func asked(_ prepared: PreparedRequest) -> Sharing.Asked {
    var asked = Sharing.Asked()
    asked.method = prepared.request.method
    asked.isRead = prepared.request.isRead
    asked.isPassThrough = prepared.isPassThrough
    asked.keepsAnyway = prepared.request.keepsAnyway
    asked.account = prepared.key.account
    asked.fields = prepared.fields
    asked.isPlainHTTP = !prepared.url.isSecure
    asked.hasSecretURL = prepared.url.userInfo != nil || redacted(prepared.url) != prepared.url.string
    asked.connection = prepared.request.connection
    asked.secrets = configuration.secrets
    return asked
  }

  /// The request in the terms that all machines agree on, without its secrets.
  func question(_ prepared: PreparedRequest) -> TierQuestion {
    var fields = prepared.fields
    fields.removeAll(where: configuration.secrets.isSecretField)
    // Other parts of the key are those of this machine's connection: with them nothing is shared, or they
    // only carry what TLS protects.
    let extra = RequestKey.extraParts(prepared.key.extra).filter {
      ["host", "no-location"].contains($0.name)
    }
    return TierQuestion(
      account: prepared.key.account, target: prepared.key.target, method: prepared.key.method,
      extra: extra.map { RequestKey.extraPart($0.name, $0.value) }.joined(separator: " "),
      body: prepared.request.isRead ? prepared.request.body.map { Data(KeyRule.content($0, fields)) } : nil,
      fields: fields,
      responder: prepared.responder(of: prepared.url))
  }

  /// Does work with the tier that no delivery waits for.
  func tierWork(_ work: @escaping @Sendable () async -> Void) {
    let end = beginTierWork()
    Task(executorPreference: thread) {
      await work()
      end()
    }
  }

  /// Notes that such work is under way.
  /// - Returns: What is to be called at its end.
  func beginTierWork() -> @Sendable () -> Void {
    let over = FirstValue<Void>()
    let number = state.withLock { state in
      state.lastTierTask += 1
      state.tierTasks[state.lastTierTask] = over
      return state.lastTierTask
    }
    return {
      self.state.withLock { $0.tierTasks[number] = nil }
      over.set(())
    }
  }

  /// Invalidates the tier's rows of these targets, for each of the accounts.
  func invalidateInTier(_ targets: [String], accounts: [String]) {
    guard let tier = tier(), !tier.terms.isReadOnly else { return }
    let questions = accounts.filter(tier.terms.mayHave(of:)).flatMap { account in
      targets.map { TierQuestion(account: account, target: $0) }
    }
    guard !questions.isEmpty else { return }
    tierWork { [self] in
      for question in questions where await !tier.invalidate(question) {
        trace("the tier has not confirmed that its rows are void")
      }
    }
  }

  /// Invalidates the tier's rows of these keys, and waits for that.
  /// - Returns: How many of them the tier did not confirm.
  func invalidateInTier(_ keys: [RequestKey]) async -> Int {
    guard let terms = tierEngine?.terms else { return 0 }
    let questions = Set(keys.map { [$0.account, $0.target] })
      .filter { terms.mayHave(of: $0[0]) }
      .map { pair in
        // The responder is named so that its pause ends too: who removes its responses wants to ask it again.
        TierQuestion(
          account: pair[0], target: pair[1],
          responder: (try? NormalisedURL(pair[1])).map {
            KeyRule.reached($0.origin, isSecure: $0.isSecure, digest)
          } ?? "")
      }
    let task = Task(executorPreference: thread) { [self] in
      guard let tier = tier() else { return 0 }
      var missing = 0
      for question in questions where await !tier.invalidate(question) { missing += 1 }
      return missing
    }
    return await task.value
  }

  /// Whether the tier has a part in a sign-out: it may have rows of the account, and may be written from here.
  func isSignedOutOfTier(_ account: String) -> Bool {
    // Responses of no account stay shared.
    guard !account.isEmpty, let terms = tierEngine?.terms else { return false }
    return terms.mayHave(of: account) && !terms.isReadOnly
  }

  /// Makes the tier's rows of an account unreadable, and waits for that.
  /// - Returns: Whether the tier has confirmed it.
  func signOutOfTier(_ account: String) async -> Bool {
    let task = Task(executorPreference: thread) { [self] in await tier()?.signOut(account) ?? true }
    let isConfirmed = await task.value
    if !isConfirmed {
      configuration.onWarning?(
        DataService.Warning(
          kind: .other, message: "the tier has not confirmed that it has nothing of \(account) any more",
          remedy: "sign out again once it can be asked"))
    }
    return isConfirmed
  }

  /// Waits for the work with the tier that is under way, for a moment.
  func awaitTierWork() async {
    let tasks = state.withLock { Array($0.tierTasks.values) }
    guard !tasks.isEmpty else { return }
    let over = FirstValue<Void>()
    Task(executorPreference: thread) {
      for task in tasks { await task.value }
      over.set(())
    }
    let timer = timekeeper.after(configuration.timeouts.goodbye) { over.set(()) }
    await over.value
    timer.cancel()
  }

  // MARK: - Counts

  /// Adds to the tier's counts, in memory.
  func count(_ counts: TierCounts) { state.withLock { $0.tierCounts += counts } }

  /// Writes the counts beside the store.
  func leaveTierCounts() {
    // Without an attached tier there is nothing to count.
    guard isTierAttached.load(ordering: .acquiring) else { return }
    let counts = state.withLock { state in
      defer { state.tierCounts = TierCounts() }
      return state.tierCounts
    }
    store.add(counts)
  }
}
