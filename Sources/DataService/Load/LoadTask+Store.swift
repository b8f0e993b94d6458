internal import CacheStore
internal import PlatformFoundation

// What the store's answer makes of a load.
extension LoadTask {
  /// Watches over a look-up that has to open the store first, on this thread: where the disk, or the machine it is on, does
  /// not answer, the exchange begins all the same (law 3). A store that is open is read without.
  ///
  /// Opening has as long as a commit: on a busy machine it takes more than the 20 ms that a look-up has, and an exchange
  /// that began without the stored validators would fetch again what is stored.
  func watchOpening() -> LookupWatch? {
    guard !isOnlyIfCached, policy != .storedOnly, !core.store.isReadyToLookUp else { return nil }
    return beginWatch(core.configuration.timeouts.commit)
  }

  /// The store has answered, mostly before the watch was wanted.
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

  /// Looks up where waiting is allowed.
  ///
  /// - Parameter timeLimit: How long the exchange waits for it; `nil` for as long as for a store that is open.
  func lookupInQueue(timeLimit: Duration? = nil) {
    let watch = beginWatch(timeLimit ?? core.configuration.timeouts.slowStore)
    if let timer = watch.timer { state.withLock { $0.timers.append(timer) } }
    Task(executorPreference: core.thread) { [self] in
      defer { watch.pending.set(()) }
      do throws(CacheStoreError) {
        take(try await core.store.lookup(prepared.key))
      } catch {
        storeFailed(error)
      }
    }
  }

  func storeFailed(_ error: CacheStoreError) {
    // Where nothing but the store is asked, its trouble is the failure that is delivered.
    if policy != .storedOnly { core.warn(store: error) }
    state.withLock { $0.storeError = DataServiceError(store: core.advised(error)) }
    handle(.storeAnswered(.nothing))
  }

  func take(_ found: ResponseStore.Lookup) {
    if found.damaged > 0 {
      core.warn(
        .init(
          kind: .corrupt, message: "a stored response did not match its checksum and was removed",
          remedy: .checkStore))
    }
    if prepared.isHTTP { return takeJudged(found) }
    let selected = core.select(from: found, for: prepared)
    var accepted: Box<StoredResponse>?
    if let selected, accepts(selected) { accepted = Box(selected) }
    let row = accepted
    core.trace(said(of: row?.value, found))
    state.withLock { state in
      state.row = row
      state.accountID = found.accountID
      state.preflight = found.preflight
      // A fresh answer takes its place, whether or not anybody sees the stored one.
      if policy == .freshOnly { state.usedRow = row?.value.id }
      if row == nil {
        let isRefused = !prepared.request.acceptedMediaTypes.isEmpty || selected != nil
        state.forward = found.rows.isEmpty ? .uriMiss : isRefused ? .miss : .varyMiss
      }
    }
    guard let row else { return handle(.storeAnswered(.nothing)) }
    handle(.storeAnswered(.candidate(isYoung: isYoung(row.value))))
  }

  /// What was found, and what the policy makes of it, for whoever listens.
  private func said(of row: StoredResponse?, _ found: ResponseStore.Lookup) -> String {
    guard let row else {
      return found.rows.isEmpty ? "nothing is stored" : "no stored variant matches the request's headers"
    }
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
    state.withLock { state in
      state.row = decision.row.map { Box($0) }
      state.accountID = found.accountID
      state.forward = decision.forward
      state.isForStore = decision.action == .reuseWhileRevalidating
    }
    handle(.storeAnswered(.judged(decision.action, hasRow: decision.row != nil)))
  }

  /// Whether a row is of a status that the load accepts.
  private func accepts(_ row: StoredResponse) -> Bool { acceptedStatuses?.contains(row.status) ?? true }

  private func isYoung(_ row: StoredResponse) -> Bool {
    let now = core.timekeeper.wallMilliseconds
    switch policy.kind {
    case .storedThenFresh(let age?):
      return Freshness.isRecent(row, within: age.clampedNanoseconds / 1_000_000, now: now)
    case .storedElseFresh(let maxAge):
      return Freshness.isYoung(row, maxAge: maxAge.clampedNanoseconds / 1_000_000, now: now)
    default: return true
    }
  }

  /// Makes the candidate's value: at once where its bytes are at hand, else chunk by chunk from the store.
  /// - Returns: What has come of it; `nil` where that is not known yet.
  func prepareStored() -> LoadMachine.Event? {
    guard let row = state.withLock({ $0.row }) else { return .storedPrepared(false) }
    let (head, body) = HTTPPresentation.response(from: row, prepared: prepared, core: core, elapsed: elapsed)
    if case .data(let data) = body {
      return storedPrepared(row) { try self.value(of: body, data: data, head: head) }
    }
    if !form.needsWhole {
      return storedPrepared(row) { try self.value(of: body, data: Data(), head: head) }
    }
    Task(executorPreference: core.thread) { [self] in
      do throws(DataServiceError) {
        let data = try await core.collect(body, limit: prepared.request.limits.dataBytes)
        handle(storedPrepared(row) { try self.value(of: .data(data), data: data, head: head) })
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
        state.usedRow = row.value.id
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

  /// Why the stored response is not delivered.
  private func unusable(_ error: any Error) -> DataServiceError {
    if let error = error as? DataServiceError, error.kind != .undecodable { return error }
    return .storedUndecodable(
      of: prepared.url.authority, underlying: (error as? DataServiceError)?.underlying ?? error)
  }
}

/// A look-up under way, and the timer that lets the exchange begin without it.
struct LookupWatch: Sendable {
  let pending: FirstValue<Void>
  let timer: TimerHandle?
}
