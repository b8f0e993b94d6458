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

  /// Yields the row whenever it has become another, until the task is cancelled or the service closed.
  func observe(
    _ request: DataService.Request, _ continuation: AsyncStream<DataService.Response<Data>?>.Continuation
  ) async {
    defer { continuation.finish() }
    guard let prepared = try? prepare(request, policy: .storedOnly) else { return }
    var seen: Observed?
    var version: Int64?
    while !Task.isCancelled, closed == nil {
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
