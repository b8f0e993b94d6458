internal import FoundationEssentials
internal import Synchronization

/// Bodies that are delivered while they arrive. Their loads are over, so that whoever ends loads must end them as well.
final class LiveBodies: Sendable {
  private struct Entry: Sendable { weak let body: LiveBody? }

  private let entries = Mutex<[Entry]>([])

  /// The stream, which from now on ends when what belongs to its request is ended.
  func watched(_ stream: DataService.BodyStream, of request: PreparedRequest) -> DataService.BodyStream {
    let body = LiveBody(stream, of: request)
    entries.withLock { entries in
      entries.removeAll { $0.body == nil }
      entries.append(Entry(body: body))
    }
    return DataService.BodyStream(length: stream.length) { () async throws(DataServiceError) -> Data? in
      try await body.next()
    }
  }

  /// Ends those whose request satisfies the condition: their readers get the error, their connections are closed.
  func end(with error: DataServiceError, where condition: (PreparedRequest) -> Bool) {
    let bodies = entries.withLock { $0.compactMap(\.body) }
    for body in bodies where condition(body.request) { body.end(with: error) }
  }
}

/// One body that arrives, and what ends it early.
final class LiveBody: Sendable {
  private struct State {
    /// `nil` once it was ended, so that its connection goes.
    var stream: DataService.BodyStream?
    var error: DataServiceError?
    var waiting: Task<Result<Data?, DataServiceError>, Never>?
  }

  let request: PreparedRequest
  private let state: Mutex<State>

  init(_ stream: DataService.BodyStream, of request: PreparedRequest) {
    self.request = request
    state = Mutex(State(stream: stream))
  }

  func next() async throws(DataServiceError) -> Data? {
    // A task of its own, which can be cancelled by others than the reader.
    let task = state.withLock { state -> Task<Result<Data?, DataServiceError>, Never>? in
      guard let stream = state.stream else { return nil }
      let task = Task { () -> Result<Data?, DataServiceError> in
        do throws(DataServiceError) { return .success(try await stream.next()) } catch {
          return .failure(error)
        }
      }
      state.waiting = task
      return task
    }
    let result = await withTaskCancellationHandler {
      await task?.value ?? .success(nil)
    } onCancel: {
      task?.cancel()
    }
    if let error = state.withLock({ $0.error }) { throw error }
    return try result.get()
  }

  func end(with error: DataServiceError) {
    let waiting = state.withLock { state in
      state.error = error
      state.stream = nil
      return state.waiting
    }
    waiting?.cancel()
  }
}
