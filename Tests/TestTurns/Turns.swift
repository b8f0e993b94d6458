import Foundation
import Synchronization

/// Counts who runs; whoever finds no room waits in the order of coming.
final class Turns: Sendable {
  /// `CACHEFETCH_TESTS_AT_ONCE`, else two for each processor: while one waits for a child process or a peer, another
  /// computes.
  static let shared = Turns(
    count: ProcessInfo.processInfo.environment["CACHEFETCH_TESTS_AT_ONCE"].flatMap(Int.init)
      ?? 2 * ProcessInfo.processInfo.activeProcessorCount)

  private struct State {
    var free: Int
    /// Those who begin before all who wait: who only gave their turn away for a while, and the next of a serial suite.
    var preferred: [CheckedContinuation<Void, Never>] = []
    var waiting: [CheckedContinuation<Void, Never>] = []
    var first = 0
  }

  private let state: Mutex<State>

  init(count: Int) { state = Mutex(State(free: max(count, 1))) }

  /// Returns when there is room.
  func begin(goesFirst: Bool = false) async {
    await withCheckedContinuation { continuation in
      let hasRoom = state.withLock { state in
        if state.free > 0 {
          state.free -= 1
          return true
        }
        if goesFirst { state.preferred.append(continuation) } else { state.waiting.append(continuation) }
        return false
      }
      if hasRoom { continuation.resume() }
    }
  }

  /// Gives the room to whoever goes first, else to whoever has waited longest.
  func end() {
    let next: CheckedContinuation<Void, Never>? = state.withLock { state in
      if !state.preferred.isEmpty { return state.preferred.removeFirst() }
      guard state.first < state.waiting.count else {
        state.free += 1
        return nil
      }
      defer { state.first += 1 }
      return state.waiting[state.first]
    }
    next?.resume()
  }
}
