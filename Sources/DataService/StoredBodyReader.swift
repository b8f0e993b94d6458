internal import CacheStore
internal import FoundationEssentials

/// How far a stored body has been read; used by one reader at a time.
///
/// While the caller is busy with a chunk the next one is read and verified: one, whatever the length of the body.
actor StoredBodyReader {
  private typealias Reading = Task<Result<Data, DataServiceError>, Never>

  private let body: StoredResponse.Body
  private let store: ResponseStore
  private let executor: any TaskExecutor
  private var number = 0
  private var remaining: Int64
  private var ahead: Reading?

  init(body: StoredResponse.Body, store: ResponseStore, executor: any TaskExecutor) {
    self.body = body
    self.store = store
    self.executor = executor
    remaining = body.length
  }

  /// The next chunk; `nil` after the last.
  func next() async throws(DataServiceError) -> Data? {
    guard remaining > 0 else { return nil }
    let chunk = number == 0 ? body.firstChunk : try await (ahead ?? read(number)).value.get()
    number += 1
    remaining -= Int64(chunk.count)
    ahead = remaining > 0 ? read(number) : nil
    return chunk
  }

  private func read(_ number: Int) -> Reading {
    Task(executorPreference: executor) { [body, store] in
      do throws(CacheStoreError) {
        return .success(try await store.chunk(number, of: body.id, accountID: body.accountID))
      } catch {
        return .failure(DataServiceError(store: error))
      }
    }
  }
}
