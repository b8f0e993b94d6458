import Synchronization

/// A clock that stands still until it is set.
final class TestClock: Sendable {
  private let value: Mutex<Int64>

  /// Milliseconds since 1970-01-01 UTC, unless the test means something else.
  var now: Int64 {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }

  init(_ now: Int64 = 1_700_000_000_000) { value = Mutex(now) }
}
