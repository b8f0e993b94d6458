internal import CSQLite
internal import PlatformC

/// Waits for another connection's lock until a deadline, retrying every half millisecond.
///
/// SQLite's own busy timeout sleeps up to 100 ms between retries, so that a process that has waited long loses
/// against newcomers; and it takes a duration, not a deadline.
final class BusyWaiting {
  /// Monotonic nanoseconds; 0: does not wait.
  var deadline: Int64 = 0 { didSet { BoundedSleep.setDeadline(deadline) } }

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

/// SQLite's own file system, but for sleeps, which end at the deadline of the connection that the thread uses.
///
/// While another process holds the log's index, SQLite tries a hundred times, whatever the busy handler says, and sleeps
/// ten seconds in all. After the deadline a sleep is half a millisecond: others usually hold the index for moments.
enum BoundedSleep {
  private static let deadline: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// Its name; `nil` where SQLite does not take it.
  static let name: String? = {
    guard let name = strdup("cachefetch"), let own = sqlite3_vfs_find(nil) else { return nil }
    let bounded = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    bounded.initialize(to: own.pointee)
    (bounded.pointee.pNext, bounded.pointee.zName) = (nil, UnsafePointer(name))
    bounded.pointee.xSleep = { _, microseconds in
      let left = Int(bitPattern: pthread_getspecific(deadline)) - Int(Platform.monotonicNanoseconds())
      Platform.rest(nanoseconds: min(Int(microseconds) * 1_000, max(left, 500_000)))
      return microseconds
    }
    return sqlite3_vfs_register(bounded, 0) == SQLITE_OK ? "cachefetch" : nil
  }()

  static func setDeadline(_ nanoseconds: Int64) {
    pthread_setspecific(deadline, UnsafeRawPointer(bitPattern: Int(nanoseconds)))
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
