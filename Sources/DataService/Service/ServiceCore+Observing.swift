internal import CacheStore
internal import FoundationEssentials

extension ServiceCore {
  /// How often an observed store is asked whether anything was committed.
  private static var observationInterval: Duration { .milliseconds(20) }

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
  func changes(to request: DataService.Request) -> AsyncStream<DataService.Response<Data>?> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      guard let number = addObserver({ continuation.finish() }) else { return continuation.finish() }
      let task = Task(executorPreference: thread) { await self.observe(request, continuation) }
      continuation.onTermination = { _ in
        task.cancel()
        self.removeObserver(number)
      }
    }
  }

  /// Ends the sequences, as closing does: their tasks stand still with the thread.
  func endObservers() {
    for observer in state.withLock({ $0.observers }) { observer.end() }
  }

  /// The observer's number; `nil` where the service is closed.
  private func addObserver(_ end: @escaping @Sendable () -> Void) -> Int? {
    state.withLock { state in
      guard state.closed == nil else { return nil }
      state.lastObserver += 1
      state.observers.append((state.lastObserver, end))
      return state.lastObserver
    }
  }

  private func removeObserver(_ number: Int) {
    // Its end may be the last reference to the caller's.
    let removed = state.withLock { state in
      state.observers.firstIndex { $0.number == number }.map { state.observers.remove(at: $0) }
    }
    withExtendedLifetime(removed) {}
  }

  private func observe(
    _ request: DataService.Request, _ continuation: AsyncStream<DataService.Response<Data>?>.Continuation
  ) async {
    defer { continuation.finish() }
    guard let prepared = try? prepare(request, policy: .storedOnly) else { return }
    var seen: Observed?
    var version: Int64?
    while !Task.isCancelled {
      let current = await storeCall { [store] in try? store.dataVersionNow() } ?? nil
      if seen == nil || current == nil || current != version {
        version = current
        if let found = try? await lookup(prepared) {
          let row = select(from: found, for: prepared)
          let now = Observed(row)
          if now != seen {
            seen = now
            continuation.yield(await response(row, for: prepared))
          }
        }
      }
      do {
        try await timekeeper.sleep(for: Self.observationInterval)
      } catch {
        return
      }
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

/// What tells one state of a row from the next.
private struct Observed: Equatable {
  let id: Int64?
  let started: StartMark?
  let receivedAt: Int64?
  let bodyID: Int64?

  init(_ row: StoredResponse?) {
    id = row?.id
    started = row?.started
    receivedAt = row?.receivedAt
    bodyID = row?.body.id
  }
}
