internal import Guards
internal import PlatformFoundation

/// A weak reference to a body that is delivered while it arrives.
struct WeakLiveBody: Sendable { weak let body: LiveBody? }

extension ServiceCore {
  /// Wraps the stream so that sign-out and closing can end it.
  func watched(_ stream: DataService.BodyStream, of request: PreparedRequest) -> DataService.BodyStream {
    let body = LiveBody(stream, of: request)
    // Released outside the lock: the last reference to a body closes its connection.
    _ = state.withLock { state in
      let alive = state.liveBodies.compactMap(\.body)
      state.liveBodies = (alive + [body]).map { WeakLiveBody(body: $0) }
      return alive
    }
    return DataService.BodyStream(length: stream.length) { () async throws(DataServiceError) -> Data? in
      try await body.next()
    }
  }

  /// Ends the live bodies whose request satisfies the condition: readers get the error, connections are closed.
  func endLiveBodies(with error: DataServiceError, where condition: (PreparedRequest) -> Bool) {
    let bodies = state.withLock { $0.liveBodies.compactMap(\.body) }
    for body in bodies where condition(body.request) { body.end(with: error) }
  }
}

/// A body that arrives, and can be ended early.
final class LiveBody: Sendable {
  private struct State {
    /// `nil` once ended, so that its connection is closed.
    var stream: DataService.BodyStream?
    var error: DataServiceError?
    var waiting: Task<Result<Data?, DataServiceError>, Never>?
  }

  let request: PreparedRequest
  private let state: Guarded<State>

  init(_ stream: DataService.BodyStream, of request: PreparedRequest) {
    self.request = request
    state = Guarded(State(stream: stream))
  }

  func next() async throws(DataServiceError) -> Data? {
    let (stream, ended) = state.withLock { ($0.stream, $0.error) }
    guard let stream else {
      if let ended { throw ended }
      return nil
    }
    // A separate task, so that code other than the reader can cancel it.
    let task = Task { () -> Result<Data?, DataServiceError> in
      do throws(DataServiceError) { return .success(try await stream.next()) } catch {
        return .failure(error)
      }
    }
    let isEnded = state.withLock { state in
      state.waiting = task
      return state.error != nil
    }
    if isEnded { task.cancel() }
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    if let error = state.withLock({ $0.error }) { throw error }
    return try result.get()
  }

  func end(with error: DataServiceError) {
    // The stream is released outside the lock, since that closes the connection.
    let (waiting, _) = state.withLock { state in
      defer { state.stream = nil }
      state.error = error
      return (state.waiting, state.stream)
    }
    waiting?.cancel()
  }
}
