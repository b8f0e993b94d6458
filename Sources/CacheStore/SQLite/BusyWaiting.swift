internal import CSQLite

/// Waits for another connection's lock until a deadline, retrying every half millisecond.
///
/// SQLite's own busy timeout sleeps up to 100 ms between retries, so that a process that has waited long loses
/// against newcomers; and it takes a duration, not a deadline.
final class BusyWaiting {
  /// Monotonic nanoseconds; 0: does not wait.
  var deadline: Int64 = 0

  /// Makes `database` wait until this object's deadline; this object must outlive it.
  func install(on database: OpaquePointer) {
    sqlite3_busy_handler(
      database,
      { context, tries in
        guard let context else { return 0 }
        let waiting = Unmanaged<BusyWaiting>.fromOpaque(context).takeUnretainedValue()
        guard waiting.deadline != 0, Platform.monotonicNanoseconds() < waiting.deadline else { return 0 }
        Platform.rest(nanoseconds: tries < 4 ? 100_000 : 500_000)
        return 1
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
