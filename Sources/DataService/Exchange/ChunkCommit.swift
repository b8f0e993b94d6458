internal import CacheStore
internal import FoundationEssentials

/// One chunk of a body on its way into the store, while the next one arrives.
struct ChunkCommit: Sendable {
  let bytes: Data
  private let outcome = FirstValue<Result<Void, CacheStoreError>?>()

  /// Has the bytes committed after those before them. What has arrived is kept although its exchange is cancelled.
  init(_ bytes: Data, of body: UnfinishedBody) {
    self.bytes = bytes
    body.append(chunk: bytes) { [outcome] in outcome.set($0) }
  }

  /// Returns once the chunk is committed; throws `busy` where the store does not take it in time.
  nonisolated(nonsending) func wait(_ waiting: StoreWaiting) async throws(CacheStoreError) {
    guard let outcome = await waiting.value(of: outcome) else { throw StoreWaiting.gaveUp }
    try outcome.get()
  }
}
