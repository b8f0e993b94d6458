import CSQLite
import Synchronization

@testable import CacheStore

/// Refuses a connection one use of something, which SQLite names by an action and two words.
final class RefusedUse: Sendable {
  private let action: Int32
  private let first: String
  private let second: String
  private let left: Mutex<Int>

  /// - Parameter nth: Which of the uses is refused, from 1.
  init(_ action: Int32, _ first: String, _ second: String, nth: Int = 1) {
    self.action = action
    self.first = first
    self.second = second
    left = Mutex(nth)
  }

  /// Must outlive the connection.
  func refuse(_ connection: Connection) {
    sqlite3_set_authorizer(
      connection.handle,
      { context, action, first, second, _, _ in
        guard let context, let first, let second else { return SQLITE_OK }
        let use = Unmanaged<RefusedUse>.fromOpaque(context).takeUnretainedValue()
        let isRefused = use.isRefused(action, String(cString: first), String(cString: second))
        return isRefused ? SQLITE_DENY : SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func isRefused(_ action: Int32, _ first: String, _ second: String) -> Bool {
    guard action == self.action, first == self.first, second == self.second else { return false }
    return left.withLock { left in
      left -= 1
      return left == 0
    }
  }
}
