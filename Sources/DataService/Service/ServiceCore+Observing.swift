internal import CacheStore
internal import PlatformFoundation

/// When an observer looks again after it was told that the store's files have changed.
private enum ObservationRhythm {
  /// The first look: by then the commit can be seen.
  static let first = Duration.milliseconds(4)
  /// The first look where the last one was just before: much is being written.
  static let again = Duration.milliseconds(10)
  /// The looks after that, each from the one before: a process that was held up in the middle of its commit.
  static let later: [Duration] = [.milliseconds(16), .milliseconds(80), .milliseconds(400)]
  /// Between looks where the store cannot be read, or the system tells of no changes.
  static let unsettled = Duration.seconds(1)
  static let untold = Duration.milliseconds(50)
}

extension ServiceCore {
  /// The stored response whose bytes are at hand, without waiting.
  func storedResponse(for request: DataService.Request) -> DataService.Response<Data>? {
    let began = timekeeper.bootNanoseconds
    guard let prepared = try? prepare(request, policy: .storedOnly), !prepared.isPassThrough,
      let found = try? store.lookupNow(prepared.key), let row = select(from: found, for: prepared),
      row.body.isWhole || prepared.isHead
    else { return nil }
    store.markUsed(rowID: row.id, atMilliseconds: timekeeper.wallMilliseconds)
    let head = HeadRule.head(
      of: row, prepared: prepared, now: timekeeper.wallMilliseconds,
      elapsed: .nanoseconds(timekeeper.bootNanoseconds - began))
    return .init(value: prepared.isHead ? Data() : row.body.firstChunk, head: head)
  }

  /// The row, and again whenever it has become another, until the sequence is dropped or the service closed.
  func changes(
    to request: DataService.Request
  ) -> AsyncThrowingStream<DataService.Response<Data>?, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let wakeup = Wakeup()
      guard let number = addObserver(wakeup, { continuation.finish() }) else { return continuation.finish() }
      let task = Task(executorPreference: thread) {
        await self.observe(request, wakeup, continuation)
      }
      continuation.onTermination = { _ in
        task.cancel()
        wakeup.tell()
        self.removeObserver(number)
      }
    }
  }

  /// Ends the sequences, as closing does: their tasks stand still with the thread.
  func endObservers() {
    for observer in state.withLock({ $0.observers }) { observer.end() }
  }

  /// Has `end` called when the service closes, and `wakeup` told of what is written to the store.
  /// - Returns: The observer's number; `nil` where the service is closed.
  func addObserver(_ wakeup: Wakeup?, _ end: @escaping @Sendable () -> Void) -> Int? {
    state.withLock { state in
      guard state.closed == nil else { return nil }
      state.lastObserver += 1
      state.observers.append((state.lastObserver, wakeup, end))
      return state.lastObserver
    }
  }

  func removeObserver(_ number: Int) {
    // Its end may be the last reference to the caller's; with the last of them the watch goes.
    let removed = state.withLock { state in
      let observer = state.observers.firstIndex { $0.number == number }.map { state.observers.remove(at: $0) }
      let watch = state.observers.isEmpty ? state.watch : nil
      if state.observers.isEmpty { state.watch = nil }
      return (observer, watch)
    }
    withExtendedLifetime(removed) {}
  }

  private func tellObservers() {
    for observer in state.withLock({ $0.observers }) { observer.wakeup?.tell() }
  }

  /// Has the store's files watched, for all observers, where they are not yet.
  /// - Returns: Whether they are.
  private func watchStore() -> Bool {
    if state.withLock({ $0.watch != nil }) { return true }
    guard let new = store.watch({ [weak self] in self?.tellObservers() }) else { return false }
    let surplus = state.withLock { state in
      let isWanted = state.watch == nil && !state.observers.isEmpty
      if isWanted { state.watch = new }
      return isWanted ? nil : new
    }
    withExtendedLifetime(surplus) {}
    return true
  }

  private func observe(
    _ request: DataService.Request, _ wakeup: Wakeup,
    _ continuation: AsyncThrowingStream<DataService.Response<Data>?, any Error>.Continuation
  ) async {
    do throws(DataServiceError) {
      try await observe(prepare(request, policy: .storedOnly), wakeup) { continuation.yield($0) }
      continuation.finish()
    } catch {
      continuation.finish(throwing: error)
    }
  }

  private func observe(
    _ prepared: PreparedRequest, _ wakeup: Wakeup, _ deliver: @Sendable (DataService.Response<Data>?) -> Void
  ) async throws(DataServiceError) {
    var observation = Observation()
    // How many looks there were since the last change of the files.
    var looks = 0
    while !Task.isCancelled {
      // Before the look, so that nothing is missed between the two.
      let isWatched = await storeCall { [self] in watchStore() } ?? false
      let isSettled = try await look(prepared, &observation, deliver)
      var pause = looks < ObservationRhythm.later.count ? ObservationRhythm.later[looks] : nil
      if !isSettled { pause = pause ?? ObservationRhythm.unsettled }
      if !isWatched { pause = ObservationRhythm.untold }
      guard await wakeup.wait(atMost: pause, timekeeper) else {
        looks += 1
        continue
      }
      let rest = looks == 0 ? ObservationRhythm.again : ObservationRhythm.first
      looks = 0
      do { try await timekeeper.sleep(for: rest) } catch { return }
    }
  }

  /// Looks once.
  /// - Returns: Whether the store could be read.
  private func look(
    _ prepared: PreparedRequest, _ observation: inout Observation,
    _ deliver: @Sendable (DataService.Response<Data>?) -> Void
  ) async throws(DataServiceError) -> Bool {
    let version = await storeCall { [store] in try? store.dataVersionNow() } ?? nil
    if let version, ResponseStore.isUnchanged(from: observation.version, to: version) { return true }
    do throws(CacheStoreError) {
      let row = select(from: try await lookup(prepared), for: prepared)
      observation.version = version
      let now = Observed(row)
      if now != observation.row {
        observation.row = now
        deliver(await response(row, for: prepared))
      }
      return version != nil
    } catch {
      observation.version = nil
      guard error.isLasting else { return false }
      throw DataServiceError(store: error)
    }
  }

  private func response(
    _ row: StoredResponse?, for prepared: PreparedRequest
  ) async -> DataService.Response<Data>? {
    guard let row,
      let data = try? await collect(DeliveredBody(row.body), limit: prepared.request.limits.dataBytes)
    else { return nil }
    return .init(
      value: data,
      head: HeadRule.head(of: row, prepared: prepared, now: timekeeper.wallMilliseconds, elapsed: .zero))
  }
}

/// What an observer has seen.
private struct Observation {
  /// The store as of the last look that could be made.
  var version: Int64?
  /// The row; `nil` before the first look.
  var row: Observed?
}

/// What tells one state of a row from the next.
private struct Observed: Equatable {
  let id: Int64?
  let started: StartMark?
  let receivedAt: Int64?
  let bodyID: Int64?
  let isInvalid: Bool?

  init(_ row: StoredResponse?) {
    id = row?.id
    started = row?.started
    receivedAt = row?.receivedAt
    bodyID = row?.body.id
    isInvalid = row?.isInvalid
  }
}

extension CacheStoreError {
  /// Whether looking again will not help, until a person has done something.
  fileprivate var isLasting: Bool {
    switch reason {
    case .cannotOpen: remedy != .descriptors
    case .newerSchema, .otherSchema, .foreignFile, .readOnly, .cannotLock: true
    case .corrupt, .busy, .full, .signedOut, .replaced, .missing, .closed, .other: false
    }
  }
}
