internal import CacheStore
internal import FoundationEssentials

/// One chunk of a body on its way into the store, while the next one arrives.
struct ChunkCommit: Sendable {
  let bytes: Data
  private let task: Task<Result<Bool, CacheStoreError>, Never>

  /// Begins to commit the bytes.
  /// - Parameter previous: The stored body whose chunk of the same number the bytes are compared with.
  init(
    _ bytes: Data, number: Int, of body: UnfinishedBody, comparedWith previous: StoredResponse.Body?,
    in store: ResponseStore, on executor: any TaskExecutor
  ) {
    self.bytes = bytes
    // Not a child of the exchange's task: what has arrived is kept although the exchange is cancelled.
    task = Task(executorPreference: executor) { () -> Result<Bool, CacheStoreError> in
      do throws(CacheStoreError) {
        try await body.append(bytes)
      } catch {
        return .failure(error)
      }
      guard let previous, !previous.isWhole else { return .success(false) }
      do throws(CacheStoreError) {
        return .success(try await store.chunk(number, of: previous.id) == bytes)
      } catch {
        // An old body that can no longer be read is another body to the caller; its row is found damaged on its own.
        return .success(false)
      }
    }
  }

  /// Returns once the chunk is committed: whether it is the same as the previous body's.
  func isSame() async throws(CacheStoreError) -> Bool { try await task.value.get() }
}
