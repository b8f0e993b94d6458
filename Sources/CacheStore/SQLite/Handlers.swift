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

/// Limits the work that an untrusted file can cause: a bound on SQLite's steps, by the file's size.
///
/// The steps for reading and writing a store grow with its rows. A file that needs more was built to.
final class StepBudget {
  /// The steps between two checks.
  private static let stride: Int32 = 1_000
  /// The budget of an empty file, and the steps added per byte. A row of a store has some hundred bytes and takes
  /// some hundred steps in the longest lists and checks.
  private static let least: Int64 = 10_000_000
  private static let stepsOfByte: Int64 = 4

  private let whole: Int64
  private var left: Int64

  init(fileBytes: Int64) {
    whole = Self.least + Self.stepsOfByte * min(max(0, fileBytes), 1 << 50)
    left = whole
  }

  /// Restores the whole budget, for another piece of work.
  func restart() { left = whole }

  /// Interrupts `database` where the budget is used up; this object must outlive it.
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
