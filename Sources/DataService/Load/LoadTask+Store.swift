internal import CacheStore
internal import Guards
internal import PlatformFoundation

// Handles the answer of the store.
extension LoadTask {
  /// Watches a lookup that must first open the store on this thread. If the disk or file server does not respond, the
  /// exchange begins without the stored response (law 3). A store that is already open needs no watch.
  ///
  /// Opening has the time limit of a commit. On a busy machine it exceeds the 20 ms of a lookup, and an exchange
  /// without the stored validators would download the stored body again.
  func watchOpening() -> LookupWatch? {
    guard !isOnlyIfCached, policy != .storedOnly, !core.store.isReadyToLookUp else { return nil }
    return beginWatch(core.configuration.timeouts.commit)
  }

  /// Ends the watch because the store has answered, usually before the time limit.
  func endWatch(_ watch: LookupWatch?) {
    guard let watch else { return }
    watch.timer?.cancel()
    watch.pending.set(())
    state.withLock { $0.pendingLookup = nil }
  }

  private func beginWatch(_ timeLimit: Duration) -> LookupWatch {
    let pending = FirstValue<Void>()
    state.withLock { $0.pendingLookup = pending }
    guard !isOnlyIfCached else { return LookupWatch(pending: pending, timer: nil) }
    let timer = core.timekeeper.after(timeLimit) { [weak self] in
      self?.handle(.storeIsSlow)
    }
    return LookupWatch(pending: pending, timer: timer)
  }

  /// Looks the stored response up on the store's queue, where waiting is allowed.
  ///
  /// - Parameter timeLimit: How long the exchange waits for the lookup; `nil` for the time limit of an open store.
  func lookupInQueue(timeLimit: Duration? = nil) {
    let watch = beginWatch(timeLimit ?? core.configuration.timeouts.slowStore)
    if let timer = watch.timer { state.withLock { $0.timers.append(timer) } }
    Task(executorPreference: core.thread) { [self] in
      defer { watch.pending.set(()) }
      do throws(CacheStoreError) {
        let found = try await core.store.lookup(prepared.key)
        // Before the row is used: the exchange that may begin then must know that the store has answered.
        endWatch(watch)
        take(found)
      } catch {
        storeFailed(error)
      }
    }
  }

  func storeFailed(_ error: CacheStoreError) {
    // Under `storedOnly` the error itself is delivered, so it needs no warning.
    if policy != .storedOnly { core.warn(store: error) }
    state.withLock { $0.storeError = DataServiceError(store: core.advised(error)) }
    handle(.storeAnswered(.nothing))
  }

  func take(_ found: ResponseStore.Lookup) {
    if prepared.isHTTP { return takeJudged(found) }
    let selected = core.select(from: found, for: prepared).map(Box.init)
    let row = selected.flatMap { accepts($0.value) ? $0 : nil }
    if found.damaged > 0 { noteDamage(isMissed: row == nil) }
    // Computed only if rows were found and none of them fits; most lookups find a row that fits, or nothing.
    let unfit: Unfit? =
      row == nil && !found.rows.isEmpty
      ? Unfit(found.rows, for: prepared, statuses: acceptedStatuses, protect: core.protect) : nil
    core.trace(said(of: row?.value, unfit))
    state.withLock { state in
      state.row = row
      state.accountID = found.accountID
      state.preflight = found.preflight
      state.unfit = unfit
      // A fresh answer replaces the row, whether or not the row is delivered.
      if policy == .freshOnly { state.usedRow = row?.value.id }
      if row == nil {
        let isRefused = !prepared.request.acceptedMediaTypes.isEmpty || selected != nil
        state.forward = found.rows.isEmpty ? .uriMiss : isRefused ? .miss : .varyMiss
      }
    }
    guard let row else { return handle(.storeAnswered(.nothing)) }
    handle(.storeAnswered(.candidate(isYoung: isYoung(row.value))))
  }

  /// Reports a row that did not match its checksum. In a store that is only read it stays, and a load that asks nobody
  /// and has nothing else fails with that.
  private func noteDamage(isMissed: Bool) {
    guard core.store.configuration.isReadOnly else {
      return core.warn(
        .init(
          kind: .corrupt, message: "a stored response did not match its checksum and was removed",
          remedy: .checkStore))
    }
    let error = DataServiceError(
      .corrupt, "what is stored \(prepared.shownPlace) does not match its checksum",
      hint: "the store is only read, and is left as it is")
    if isMissed, policy == .storedOnly || isOnlyIfCached {
      state.withLock { $0.storeError = error }
    } else {
      core.warn(.init(kind: error.kind, message: error.message, remedy: error.remedy))
    }
  }

  /// A description of the row and of the policy's decision, for the trace.
  private func said(of row: StoredResponse?, _ unfit: Unfit?) -> String {
    guard let row else { return unfit.map { "what is stored \($0.words)" } ?? "nothing is stored" }
    let stored =
      "a response is stored, \(Explain.duration(Freshness.age(of: row, now: core.timekeeper.wallMilliseconds))) old"
    switch policy.kind {
    case .storedOnly: return "\(stored); the policy sends no request"
    case .freshOnly: return "\(stored); the policy does not use it"
    case .storedThenFresh(let age?):
      let limit = Explain.duration(age.clampedNanoseconds / 1_000_000)
      return isYoung(row)
        ? "\(stored), received less than \(limit) ago: no request"
        : "\(stored), received at least \(limit) ago"
    case .storedElseFresh(let maxAge):
      let limit = Explain.duration(maxAge.clampedNanoseconds / 1_000_000)
      return isYoung(row)
        ? "\(stored), not older than \(limit): no request" : "\(stored), older than \(limit)"
    default: return stored
    }
  }

  /// Under `http` RFC 9111 decides which row, if any, answers.
  private func takeJudged(_ found: ResponseStore.Lookup) {
    let decision = core.judge(
      prepared, rows: acceptedStatuses == nil ? found.rows : found.rows.filter(accepts))
    core.trace("http: \(decision.reason.rawValue)")
    if found.damaged > 0 { noteDamage(isMissed: decision.row == nil) }
    state.withLock { state in
      state.row = decision.row.map { Box($0) }
      state.accountID = found.accountID
      state.forward = decision.forward
      state.isForStore = decision.action == .reuseWhileRevalidating
    }
    handle(.storeAnswered(.judged(decision.action, hasRow: decision.row != nil)))
  }

  /// Whether the load accepts the row's status.
  func accepts(_ row: StoredResponse) -> Bool { acceptedStatuses?.contains(row.status) ?? true }

  func isYoung(_ row: StoredResponse) -> Bool {
    let now = core.timekeeper.wallMilliseconds
    switch policy.kind {
    case .storedThenFresh(let age?):
      return Freshness.isRecent(row, within: age.clampedNanoseconds / 1_000_000, now: now)
    case .storedElseFresh(let maxAge):
      return Freshness.isYoung(row, maxAge: maxAge.clampedNanoseconds / 1_000_000, now: now)
    default: return true
    }
  }

  /// Makes the candidate's value: at once if its bytes are in memory, otherwise chunk by chunk from the store.
  /// - Returns: The resulting event; `nil` if it comes later.
  func prepareStored() -> LoadMachine.Event? {
    guard let row = state.withLock({ $0.row }) else { return .storedPrepared(false) }
    let (head, body) = HTTPPresentation.response(from: row, prepared: prepared, core: core, elapsed: elapsed)
    if !form.needsWhole {
      return storedPrepared(row) { try self.value(of: body, data: Data(), head: head) }
    }
    if case .data(let data) = body, !(form.canRefuse && core.thread.isCurrent) {
      return storedPrepared(row) { try self.value(of: body, data: data, head: head) }
    }
    Task(executorPreference: core.thread) { [self] in
      do throws(DataServiceError) {
        let data = try await core.collect(body, limit: prepared.request.limits.dataBytes)
        handle(
          await core.decoding { [self] in
            storedPrepared(row) { try self.value(of: .data(data), data: data, head: head) }
          })
      } catch {
        handle(storedPrepared(row) { throw error })
      }
    }
    return nil
  }

  private func storedPrepared(
    _ row: Box<StoredResponse>, _ make: () throws -> DataService.Response<Value>
  ) -> LoadMachine.Event {
    do {
      let response = try make()
      let answer = state.withLock { state in
        state.stored = response
        if !row.value.isFromTier { state.usedRow = row.value.id }
        return state.answer
      }
      if let answer {
        let change = ChangeJudge.change(of: answer, from: row, for: prepared)
        state.withLock { $0.lateChange = change }
      }
      noteStale()
      return .storedPrepared(true)
    } catch {
      let error = unusable(error)
      state.withLock { state in
        state.storeError = error
        state.isRowUnusable = true
      }
      core.warn(.init(kind: error.kind, message: error.message, remedy: error.remedy))
      return .storedPrepared(false)
    }
  }

  /// The reason why the stored response is not delivered.
  private func unusable(_ error: any Error) -> DataServiceError {
    if let error = error as? DataServiceError, error.kind != .undecodable { return error }
    return .storedUndecodable(
      of: prepared.url.authority, underlying: (error as? DataServiceError)?.underlying ?? error)
  }
}

/// A running lookup, and the timer that starts the exchange without it.
struct LookupWatch: Sendable {
  let pending: FirstValue<Void>
  let timer: TimerHandle?
}
