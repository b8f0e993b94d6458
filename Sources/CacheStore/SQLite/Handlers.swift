internal import CSQLite

/// How much work a file may cause that somebody else may have made: a bound on SQLite's steps, by the file's size.
///
/// A store is read and written in a number of steps that grows with its rows. What grows faster was made to.
final class StepBudget {
  /// The steps between two looks.
  private static let stride: Int32 = 1_000
  /// For a file of no length, and more for each of its bytes; a row of a store has some hundred bytes and takes, in the
  /// longest lists and checks, some hundred steps.
  private static let least: Int64 = 10_000_000
  private static let stepsOfByte: Int64 = 4

  private let whole: Int64
  private var left: Int64

  init(fileBytes: Int64) {
    whole = Self.least + Self.stepsOfByte * min(max(0, fileBytes), 1 << 50)
    left = whole
  }

  /// Begins anew, for another piece of work.
  func restart() { left = whole }

  /// Makes `database` stop where the budget is used up; the object must outlive it.
  func install(on database: OpaquePointer) {
    sqlite3_progress_handler(
      database, Self.stride,
      { context in
        guard let context else { return 0 }
        let budget = Unmanaged<StepBudget>.fromOpaque(context).takeUnretainedValue()
        budget.left -= Int64(StepBudget.stride)
        return budget.left < 0 ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}

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
