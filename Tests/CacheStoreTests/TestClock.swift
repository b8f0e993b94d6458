import Synchronization

/// A wall clock that stands still until it is set.
final class TestClock: Sendable {
  private let value = Mutex<Int64>(1_700_000_000_000)

  /// Milliseconds since 1970-01-01 UTC.
  var now: Int64 {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
}
