import Synchronization

/// The requests the server has received, and the tasks that wait for more.
final class RequestLog: Sendable {
  private struct Waiter {
    let count: Int
    let path: String?
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var requests: [FixtureRequest] = []
    var waiters: [Int: Waiter] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  func append(_ request: FixtureRequest) {
    let ready = state.withLock { state in
      state.requests.append(request)
      let met = state.waiters.filter { _, waiter in
        Self.select(state.requests, waiter.path).count >= waiter.count
      }
      for number in met.keys { state.waiters[number] = nil }
      return met.values.map(\.continuation)
    }
    for continuation in ready { continuation.resume() }
  }

  func requests(to path: String?) -> [FixtureRequest] {
    state.withLock { Self.select($0.requests, path) }
  }

  func forget() { state.withLock { $0.requests = [] } }

  func wait(_ count: Int, to path: String?) async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isMet = state.withLock { state in
          if Task.isCancelled || Self.select(state.requests, path).count >= count { return true }
          state.waiters[number] = Waiter(count: count, path: path, continuation: continuation)
          return false
        }
        if isMet { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
    }
  }

  private static func select(_ requests: [FixtureRequest], _ path: String?) -> [FixtureRequest] {
    guard let path else { return requests }
    return requests.filter { $0.target == path || $0.path == path }
  }
}
