internal import Guards
internal import PlatformFoundation

/// One iteration of a live sequence: its loads, one after the other, an observer of the store, and their unread
/// deliveries.
///
/// A slow reader delays the loads: none begins before all deliveries are read. Only the newest row from the observer is
/// kept meanwhile.
final class LiveFeed<Value: Sendable>: Sendable {
  private typealias Delivery = DataService.Delivery<Value>
  private typealias Waiting = UnsafeContinuation<DataService.Delivery<Value>?, Never>

  /// Why the origin is asked again.
  private enum Reason { case demand, invalidation, interval, reconnect }

  private struct State {
    var judge: LiveJudge<Value>
    var ready: [Delivery] = []
    /// Whether the last ready delivery is the observer's.
    var isLastObserved = false
    /// The bytes that were handed on before the observer's last delivery. Where that is replaced unread, its
    /// successor is compared with these.
    var beforeObserved: Data?
    var waiting: Waiting?
    var isDemanded = false
    /// When others last stored an answer of the origin, in nanoseconds since boot.
    var answeredAt: Int64?
    /// Whether the loads wait until all that is ready is read. The loads are woken only then, so that reading does not
    /// restart an interval.
    var awaitsReader = false
    var hasBegun = false
    var isOver = false
    var task: Task<Void, Never>?
    var observer: Int?
  }

  /// The pause between attempts to observe an unusable store.
  private static var unusablePause: Duration { .seconds(5) }

  private let source: LiveSource<Value>
  private let sequence: LiveSequence
  /// Wakes the loads: another one is demanded, or all that was ready has been read.
  private let wakeup = Wakeup()
  private let state: Guarded<State>
  private var core: ServiceCore { source.core }

  init(_ source: LiveSource<Value>, _ sequence: LiveSequence) {
    self.source = source.forOneAccount
    self.sequence = sequence
    state = Guarded(State(judge: LiveJudge(began: source.core.timekeeper.startMark)))
  }

  // MARK: - The reader

  func beginOnce() {
    let began = core.timekeeper.startMark
    let isFirst = state.withLock { state in
      guard !state.hasBegun, !state.isOver else { return false }
      state.hasBegun = true
      state.judge = LiveJudge(began: began)
      return true
    }
    guard isFirst else { return }
    let task = Task { await run() }
    let isOver = state.withLock { state in
      state.task = task
      return state.isOver
    }
    if isOver { task.cancel() }
  }

  /// Loads and observes, once it is known for whom.
  private func run() async {
    let located: DataService.Request
    do { located = try await source.source.located(source.request) } catch { return end(with: error) }
    let request = try? core.prepare(located, policy: source.policy)
    let generation = request.flatMap { request in
      request.key.account.isEmpty
        ? nil : AccountGeneration(known: nil, account: request.key.account, door: core.door)
    }
    let reader = ServiceState.LiveReader(
      sequence: sequence, request: request,
      refetch: { [weak self] in self?.demand() }, signOut: { [weak self] in self?.end(with: .signedOut) })
    let observer = core.addObserver(nil, reader: reader) { [weak self] in self?.end() }
    guard let observer else { return end() }
    let isOver = state.withLock { state in
      if !state.isOver { state.observer = observer }
      return state.isOver
    }
    if isOver { return core.removeObserver(observer) }
    await withTaskGroup { group in
      group.addTask { await self.load(of: generation) }
      group.addTask { await self.observe(located, generation) }
    }
  }

  func next() async -> DataService.Delivery<Value>? {
    await withUnsafeContinuation { continuation in
      let (isReady, delivery, isLast) = state.withLock { state -> (Bool, Delivery?, Bool) in
        if !state.ready.isEmpty {
          let delivery = state.ready.removeFirst()
          let isLast = state.ready.isEmpty && state.awaitsReader
          if isLast { state.awaitsReader = false }
          return (true, delivery, isLast)
        }
        if !state.isOver { state.waiting = continuation }
        return (state.isOver, nil, false)
      }
      if isReady { continuation.resume(returning: delivery) }
      if isLast { wakeup.tell() }
    }
  }

  /// Ends the iteration and drops its unread deliveries (law 11).
  /// - Parameter failure: The last delivery, if it was not over before.
  func end(with failure: DataServiceError? = nil) {
    let last = failure.map { Delivery.failure($0, lastKnown: nil) }
    // Released outside the lock, since a `deinit` may run the caller's code.
    let dropped = state.withLock { state -> State? in
      if last != nil, state.isOver { return nil }
      let before = state
      state.isOver = true
      state.ready = before.waiting == nil ? [last].compactMap(\.self) : []
      (state.waiting, state.task, state.observer) = (nil, nil, nil)
      return before
    }
    guard let dropped else { return }
    dropped.waiting?.resume(returning: last)
    leave(dropped.task, dropped.observer)
  }

  private func leave(_ task: Task<Void, Never>?, _ observer: Int?) {
    task?.cancel()
    if let observer { core.removeObserver(observer) }
  }

  private func demand() {
    state.withLock { $0.isDemanded = true }
    wakeup.tell()
  }

  // MARK: - The loads

  private func load(of generation: AccountGeneration?) async {
    var reason: Reason?
    // How many loads in a row had no network.
    var failures = 0
    repeat {
      var isOffline = false
      let policy = reason.map { source.policy.again(ifOlderThan: youngest($0)) } ?? source.policy
      for await delivery in source.deliveries(policy) {
        if let error = delivery.error {
          isOffline = error.kind.isConnectivity
          if error.kind == .signedOut { return end(with: error) }
          // The end of the sequence says that the service is closed.
          if error.kind == .closed || isOffline && reason == .reconnect { continue }
        }
        loaded(delivery)
      }
      // The account's row may be this load's.
      if let generation, !generation.hasBegun { await generation.learnInTime() }
      failures = isOffline && source.refetch.contains(.onReconnect) ? failures + 1 : 0
      reason = await nextReason(failures: failures)
      // Another process may have signed the account out just now.
      do { try await generation?.checkSignOut() } catch { return end(with: error) }
    } while reason != nil
  }

  /// Waits until the origin is to be asked again; `nil` at the end.
  private func nextReason(failures: Int) async -> Reason? {
    while state.withLock({ state in
      state.awaitsReader = !state.ready.isEmpty
      return state.awaitsReader
    }), !Task.isCancelled { await wait(atMost: nil) }
    let pause =
      failures > 0
      ? OnlineWaitRule.delay(attempt: failures, random: core.configuration.random()) : source.interval
    let endedAt = core.timekeeper.bootNanoseconds
    while !Task.isCancelled {
      let (asked, answeredAt) = state.withLock { state -> (Reason?, Int64?) in
        let isInvalidated = state.judge.takeInvalidation()
        defer { state.isDemanded = false }
        return (state.isDemanded ? .demand : isInvalidated ? .invalidation : nil, state.answeredAt)
      }
      if let asked { return asked }
      let now = core.timekeeper.bootNanoseconds
      let left = pause.map { $0 - .nanoseconds(now - max(endedAt, answeredAt ?? endedAt)) }
      if let left, left <= .zero { return failures > 0 ? .reconnect : .interval }
      await wait(atMost: left)
    }
    return nil
  }

  /// From which age of what is stored the origin is asked; `nil` where it is asked whatever is stored. What another
  /// sequence has just stored is known here only in a moment.
  private func youngest(_ reason: Reason) -> Duration? {
    switch reason {
    case .demand: nil
    case .invalidation, .reconnect: .zero
    case .interval: source.interval.map { $0 / 2 } ?? .zero
    }
  }

  private func wait(atMost pause: Duration?) async {
    await withTaskCancellationHandler {
      _ = await wakeup.wait(atMost: pause, core.timekeeper)
    } onCancel: {
      wakeup.tell()
    }
  }

  // MARK: - The observer

  /// Passes on what is stored, until the service is closed. An unusable store is tried again; the loads and the
  /// service's warnings say what is wrong with it, or with the request.
  private func observe(_ request: DataService.Request, _ generation: AccountGeneration?) async {
    while !Task.isCancelled {
      do {
        for try await response in core.changes(to: request, of: generation) { observed(response) }
        return
      } catch {
        guard let error = error as? DataServiceError else { return }
        if error.kind == .signedOut { return end(with: error) }
        guard error.kind == .store else { return }
      }
      do { try await core.timekeeper.sleep(for: Self.unusablePause) } catch { return }
    }
  }

  // MARK: - What is handed on

  /// Passes on a load's delivery.
  func loaded(_ delivery: DataService.Delivery<WholeValue<Value>>) {
    post(isObserved: false) { judge, given in judge.loaded(compared(delivery, with: given)) }
  }

  /// Passes on what is stored. It is decoded only where it is news.
  func observed(_ stored: DataService.Response<Data>?) {
    if source.source.hasEnded { return end(with: .signedOut) }
    let now = core.timekeeper.bootNanoseconds
    let isNews = state.withLock { state in
      state.judge.now = now
      guard let stored else { return false }
      let isNews = state.judge.isNews(stored.head, stored.value)
      if isNews, !stored.isLocal { state.answeredAt = now }
      if stored.head.freshness.isInvalid, source.policy != .storedOnly {
        state.judge.invalidated(stored.head, stored.value)
      }
      return isNews
    }
    wakeup.tell()
    let response = isNews ? core.value(of: stored, for: source.request, form: source.form) : nil
    post(isObserved: true) { judge, given in
      let change =
        response.map { source.request.changeRule.change(from: given, to: $0.value.data) } ?? .new
      defer { if let stored, stored.isLocal { judge.sawLocal(stored.head, stored.value) } }
      return judge.observed(response, change)
    }
  }

  /// The delivery with its change since what the reader was given last. The load's own is the change since what
  /// was stored when it began, which the reader may not have been given.
  private func compared(
    _ delivery: DataService.Delivery<WholeValue<Value>>, with given: Data?
  ) -> DataService.Delivery<WholeValue<Value>> {
    // An answer to HEAD has no body to compare.
    guard case .fresh(let response, let change) = delivery, let given, source.request.method != .head else {
      return delivery
    }
    // A 304 is `unchanged` under every rule.
    if change == .unchanged, response.value.data == given { return delivery }
    return .fresh(response, source.request.changeRule.change(from: given, to: response.value.data))
  }

  /// Passes on the delivery, if any, that the judge returns. The judge is told what the reader will have
  /// been given before it.
  func post(
    isObserved: Bool, _ judge: (inout LiveJudge<Value>, _ given: Data?) -> DataService.Delivery<Value>?
  ) {
    let now = core.timekeeper.bootNanoseconds
    let (delivery, waiting, replaced) = state.withLock { state -> (Delivery?, Waiting?, Delivery?) in
      // The newest row replaces an older one that was not read.
      let isReplacing = isObserved && state.isLastObserved && !state.ready.isEmpty
      let given = isReplacing ? state.beforeObserved : state.judge.lastData
      state.judge.now = now
      guard !state.isOver, let delivery = judge(&state.judge, given) else { return (nil, nil, nil) }
      defer { state.waiting = nil }
      if let waiting = state.waiting { return (delivery, waiting, nil) }
      let replaced = isReplacing ? state.ready.popLast() : nil
      if isObserved { state.beforeObserved = given }
      state.ready.append(delivery)
      state.isLastObserved = isObserved
      return (nil, nil, replaced)
    }
    withExtendedLifetime(replaced) {}
    waiting?.resume(returning: delivery)
  }
}

/// What a live sequence's decoder made of the last response: its loads and the observer of the store meet each response
/// twice, and so do those who read one sequence together.
private final class LastDecoded<Value: Sendable>: Sendable {
  private let last = Guarded<(head: DataService.ResponseHead, data: Data, value: Value)?>(nil)

  func value(
    of response: DataService.Response<Data>, _ decode: (DataService.Response<Data>) throws -> Value
  ) rethrows -> Value {
    let known = last.withLock { last in
      last.flatMap { last in
        last.head.started == response.head.started
          && last.head.receivedAtMilliseconds == response.head.receivedAtMilliseconds
          && last.data == response.value ? last.value : nil
      }
    }
    if let known { return known }
    let value = try decode(response)
    let replaced = last.withLock { last in
      defer { last = (response.head, response.value, value) }
      return last
    }
    withExtendedLifetime(replaced) {}
    return value
  }
}

/// A live sequence's request, service and refetch rules.
struct LiveSource<Value: Sendable>: Sendable {
  let source: any DeliverySource
  let request: DataService.Request
  let policy: FetchPolicy
  let refetch: Set<DataService.Refetch>
  let form: ValueForm<WholeValue<Value>>

  /// The decoder's value together with the body, by which responses are compared; `canRefuse` if the decoder may throw.
  static func form(
    canRefuse: Bool, _ decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) -> ValueForm<WholeValue<Value>> {
    let last = LastDecoded<Value>()
    return .whole(canRefuse: canRefuse) { response in
      WholeValue(value: try last.value(of: response, decode), data: response.value)
    }
  }

  var core: ServiceCore { source.service.core }

  /// The same for one iteration, whose loads are all of one account.
  var forOneAccount: LiveSource {
    LiveSource(
      source: source.forOneAccount(), request: request, policy: policy, refetch: refetch, form: form)
  }

  /// The deliveries of a load.
  func deliveries(_ policy: FetchPolicy) -> DataService.Deliveries<WholeValue<Value>> {
    source.sequence(request, policy: policy, form: form)
  }

  /// The shortest of the intervals; `nil` where there is none.
  var interval: Duration? {
    let all = refetch.compactMap { if case .every(let interval) = $0 { interval } else { nil } }
    return all.min().map { max($0, .seconds(1)) }
  }
}
