internal import CacheStore
internal import Guards
internal import PlatformFoundation

/// The delays after which an observer reads the store, once its files have changed.
private enum ObservationRhythm {
  /// The first read, by which the commit is visible.
  static let first = Duration.milliseconds(4)
  /// The first read if the last one was just before, since the store is being written often.
  static let again = Duration.milliseconds(10)
  /// The delays between the later reads, for a process that is held up in the middle of its commit. They
  /// differ from every retry delay, so that a test with a virtual clock can wait for either.
  static let later = [16, 80, 400, 1_900, 9_500, 47_500].map { Duration.milliseconds($0) }
  /// The interval while the store cannot be read.
  static let unsettled = Duration.seconds(1)
  /// The interval while the system reports no file changes.
  static let untold = Duration.milliseconds(50)
}

extension ServiceCore {
  /// The longest body that is read on a caller's thread: some milliseconds.
  private static let mostBytesAtOnce: Int64 = 4 << 20

  /// The stored response, without waiting.
  func storedResponse(for request: DataService.Request) -> DataService.Response<Data>? {
    let began = timekeeper.bootNanoseconds
    guard let prepared = try? prepare(request, policy: .storedOnly), !prepared.isPassThrough,
      let found = try? store.lookupNow(prepared.key), let row = select(from: found, for: prepared),
      row.body.length <= Self.mostBytesAtOnce || prepared.isHead,
      let data = prepared.isHead ? Data() : store.wholeNow(row.body)
    else { return nil }
    store.markUsed(rowID: row.id, atMilliseconds: timekeeper.wallMilliseconds)
    let head = HeadRule.head(
      of: row, prepared: prepared, now: timekeeper.wallMilliseconds,
      elapsed: .nanoseconds(timekeeper.bootNanoseconds - began))
    return .init(value: data, head: head)
  }

  /// The row, and each later version of it, until the sequence is dropped or the service closed.
  /// - Parameter generation: Whose account it is; the sequence fails with `signedOut` when anybody signs that out.
  func changes(
    to request: DataService.Request, of generation: AccountGeneration? = nil
  ) -> AsyncThrowingStream<DataService.Response<Data>?, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let wakeup = Wakeup()
      guard let number = addObserver(wakeup, { continuation.finish() }) else { return continuation.finish() }
      let task = Task(executorPreference: thread) {
        await self.observe(request, of: generation, wakeup, continuation)
      }
      continuation.onTermination = { _ in
        task.cancel()
        wakeup.tell()
        self.removeObserver(number)
      }
    }
  }

  /// Ends the sequences when the service closes, since their tasks stop with the thread.
  func endObservers() {
    for observer in state.withLock({ $0.observers }) { observer.end() }
  }

  /// Registers an observer: `end` is called when the service closes, and `wakeup` is signalled on writes to the
  /// store.
  /// - Parameter reader: The iteration of a live sequence that it belongs to.
  /// - Returns: The observer's number; `nil` if the service is closed.
  func addObserver(
    _ wakeup: Wakeup?, reader: ServiceState.LiveReader? = nil, _ end: @escaping @Sendable () -> Void
  ) -> Int? {
    state.withLock { state in
      guard state.closed == nil else { return nil }
      state.lastObserver += 1
      state.observers.append(.init(number: state.lastObserver, wakeup: wakeup, reader: reader, end: end))
      return state.lastObserver
    }
  }

  func removeObserver(_ number: Int) {
    // Released outside the lock, since `end` may hold the last reference to the caller's objects. The watch
    // is released with the last observer.
    let removed = state.withLock { state in
      let observer = state.observers.firstIndex { $0.number == number }.map { state.observers.remove(at: $0) }
      let watch = state.observers.isEmpty ? state.watch : nil
      if state.observers.isEmpty { state.watch = nil }
      return (observer, watch)
    }
    withExtendedLifetime(removed) {}
  }

  /// Asks the origin again for the readers of a live sequence.
  func refetch(_ sequence: LiveSequence) {
    for observer in state.withLock({ $0.observers }) where observer.reader?.sequence === sequence {
      observer.reader?.refetch()
    }
  }

  private func tellObservers() {
    for observer in state.withLock({ $0.observers }) { observer.wakeup?.tell() }
  }

  /// Starts watching the store's files for all observers, unless it is done already.
  /// - Returns: Whether the files are watched.
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
    _ request: DataService.Request, of generation: AccountGeneration?, _ wakeup: Wakeup,
    _ continuation: AsyncThrowingStream<DataService.Response<Data>?, any Error>.Continuation
  ) async {
    do throws(DataServiceError) {
      try await observe(prepare(request, policy: .storedOnly), generation, wakeup) { continuation.yield($0) }
      continuation.finish()
    } catch {
      continuation.finish(throwing: error)
    }
  }

  private func observe(
    _ prepared: PreparedRequest, _ generation: AccountGeneration?, _ wakeup: Wakeup,
    _ deliver: @Sendable (DataService.Response<Data>?) -> Void
  ) async throws(DataServiceError) {
    var observation = Observation(generation: generation)
    // The number of lookups since the files last changed.
    var lookups = 0
    while !Task.isCancelled {
      // Before the read, so that no change between the two is missed.
      let isWatched = await door.call { [self] _ in watchStore() }.value ?? false
      let isSettled = try await lookupOnce(prepared, &observation, deliver)
      if generation?.isSignedOut ?? false { throw .signedOut }
      var pause = lookups < ObservationRhythm.later.count ? ObservationRhythm.later[lookups] : nil
      if !isSettled { pause = pause ?? ObservationRhythm.unsettled }
      if !isWatched { pause = ObservationRhythm.untold }
      guard await wakeup.wait(atMost: pause, timekeeper) else {
        lookups += 1
        continue
      }
      let rest = lookups == 0 ? ObservationRhythm.again : ObservationRhythm.first
      lookups = 0
      do { try await timekeeper.sleep(for: rest) } catch { return }
    }
  }

  /// Reads the row once.
  /// - Returns: Whether the store could be read.
  private func lookupOnce(
    _ prepared: PreparedRequest, _ observation: inout Observation,
    _ deliver: @Sendable (DataService.Response<Data>?) -> Void
  ) async throws(DataServiceError) -> Bool {
    let version = await door.call { (store) throws(CacheStoreError) in try store.dataVersionNow() }.value
    if let version, ResponseStore.isUnchanged(from: observation.version, to: version) { return true }
    do throws(CacheStoreError) {
      let found = try await store.lookup(prepared.key)
      try await observation.generation?.follow(found.accountID)
      let row = select(from: found, for: prepared)
      observation.version = version
      observation.failure = nil
      let now = Observed(row)
      if now != observation.row {
        observation.row = now
        deliver(await response(row, for: prepared))
      }
      return version != nil
    } catch {
      observation.version = nil
      // A folder removed while it is read looks like a store that cannot be opened. The next read decides.
      let isRepeated = observation.failure == error.reason
      observation.failure = error.reason
      guard error.isLasting, isRepeated else { return false }
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

/// The state that an observer has seen.
private struct Observation {
  let generation: AccountGeneration?
  /// The store's version at the last successful read.
  var version: Int64?
  /// The row; `nil` before the first read.
  var row: Observed?
  /// Why the last read failed; `nil` if it did not.
  var failure: CacheStoreError.Reason?

  init(generation: AccountGeneration?) { self.generation = generation }
}

/// Identifies one version of a row.
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
  /// Whether another read is useless until a person has solved the problem.
  fileprivate var isLasting: Bool {
    switch reason {
    case .cannotOpen: remedy != .descriptors
    case .newerSchema, .otherSchema, .foreignFile, .readOnly, .cannotLock: true
    case .corrupt, .earlierSchema, .busy, .full, .signedOut, .replaced, .missing, .closed, .other: false
    }
  }
}
