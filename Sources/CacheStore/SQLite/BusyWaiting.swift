internal import CSQLite

/// How long a connection waits for another's lock: until an instant, trying every half millisecond.
///
/// SQLite's own time-out rests up to 100 ms between tries, which lets a process that has waited long lose against
/// newcomers; and it cannot be given an instant instead of a length.
final class BusyWaiting {
  /// Monotonic nanoseconds; 0 means not at all.
  var deadline: Int64 = 0

  /// Makes `database` wait as this object says; the object must outlive it.
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
