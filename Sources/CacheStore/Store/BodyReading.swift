internal import Guards

package import PlatformFoundation

/// Reads a stored body in order, on the store's queue and ahead of its reader: while the reader uses one chunk, the
/// next are read and verified.
package final class BodyReading: Sendable {
  /// Chunks read ahead, whatever the length of the body: one being read, one ready.
  private static let ahead = 2

  private struct State {
    /// The chunk to be read next.
    var number = 0
    /// Bytes that have not been read yet.
    var unread: Int64
    /// The chunks read, oldest first. A failure is the last entry and stays.
    var ready: [Result<Data, CacheStoreError>] = []
    var isReading = false
    var waiters: [UnsafeContinuation<Void, Never>] = []

    mutating func takeTurn() -> Int? {
      guard !isReading, unread > 0, ready.count < ahead else { return nil }
      isReading = true
      return number
    }
  }

  private let body: StoredResponse.Body
  private let store: ResponseStore
  private let state: Guarded<State>

  /// Reads nothing before the first call of `next()`.
  package init(_ body: StoredResponse.Body, in store: ResponseStore) {
    self.body = body
    self.store = store
    state = Guarded(State(unread: body.length))
  }

  /// The next chunk; `nil` after the last.
  ///
  /// - Throws: `corrupt` where a chunk is damaged or missing, `replaced` where the body is gone, `signedOut` where
  ///   its account is gone.
  package func next() async throws(CacheStoreError) -> Data? {
    while true {
      readOn()
      switch take() {
      case .chunk(let chunk):
        readOn()
        return try chunk.get()
      case .end: return nil
      case .nothingYet: await wait()
      }
    }
  }

  private enum Taken {
    case chunk(Result<Data, CacheStoreError>)
    case end
    case nothingYet
  }

  private func take() -> Taken {
    state.withLock { state in
      guard let first = state.ready.first else { return state.unread > 0 ? .nothingYet : .end }
      if case .success = first { state.ready.removeFirst() }
      return .chunk(first)
    }
  }

  private func wait() async {
    await withUnsafeContinuation { continuation in
      let waits = state.withLock { state in
        // Checked again under the lock: a chunk that arrives later finds this waiter.
        guard state.ready.isEmpty, state.unread > 0 else { return false }
        state.waiters.append(continuation)
        return true
      }
      if !waits { continuation.resume() }
    }
  }

  /// Begins to read the next chunk, where there is one and fewer than ``ahead`` are ready. Reads one at a time, so
  /// that other reads run in between.
  private func readOn() {
    guard let number = state.withLock({ $0.takeTurn() }) else { return }
    // The lookup has already read the first chunk with the row.
    guard number > 0 else { return receive(.success(body.firstChunk)) }
    store.readChunk(number, of: body) { self.receive($0) }
  }

  private func receive(_ chunk: Result<Data, CacheStoreError>) {
    let waiters = state.withLock { state in
      state.isReading = false
      state.ready.append(chunk)
      state.number += 1
      if case .success(let bytes) = chunk { state.unread -= Int64(bytes.count) } else { state.unread = 0 }
      defer { state.waiters = [] }
      return state.waiters
    }
    waiters.forEach { $0.resume() }
    readOn()
  }
}
