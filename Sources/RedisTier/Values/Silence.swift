/// Whether the tier is asked. After a tier did not answer in time, no process that shares the mark asks it
/// for a while.
///
/// The mark is one number. 0: unknown. Negative: the tier has answered, and the low bits count the slow
/// answers in a row. Positive: no process asks before that instant, in nanoseconds since boot, and the low
/// bits count the failures in a row; they are 0 while a first process finds out whether the tier answers at
/// all.
struct Silence: Sendable {
  /// What to do with a question.
  enum Decision: Hashable, Sendable {
    case ask
    /// No process asks for that many more nanoseconds.
    case silent(Int64)
  }

  /// The length of the first silence, in nanoseconds; each further one is twice as long, up to the longest.
  static let shortest: Int64 = 5_000_000_000
  static let longest: Int64 = 60_000_000_000
  /// After this many consecutive answers slower than half of the time that they had, the tier counts as silent.
  private static let slowLimit: Int64 = 8
  /// After this many values in a minute that do not open, the tier counts as silent.
  private static let unopenedLimit = 10

  private static let low: Int64 = 15

  private let patience: Int64
  /// What this process has found out itself, used where the mark cannot be shared.
  private var own: Int64 = 0
  private var isProbing = false
  private var unopened: [Int64] = []

  /// - Parameter patience: The longest wait in nanoseconds.
  init(patience: Int64) { self.patience = patience }

  /// Decides at an instant, with the mark as it is; `mark` is replaced where others have to know.
  ///
  /// While it is unknown whether the tier answers, one process finds out and the others do without it: however many
  /// processes meet a tier that never answers, they wait no longer than one.
  mutating func decide(at now: Int64, mark: inout Int64) -> Decision {
    let shared = mark == 0 ? own : mark
    if isProbing || shared < 0 { return .ask }
    // A mark of another boot may be far ahead.
    let rest = (shared & ~Self.low) - now
    if rest > 0, rest <= Self.longest + patience * 4 { return .silent(rest) }
    isProbing = true
    mark = (now + patience * 2) & ~Self.low | shared & Self.low
    own = mark
    return .ask
  }

  /// The tier answered.
  /// - Parameter isSlow: Whether that took more than half of the time that it had.
  mutating func answered(at now: Int64, isSlow: Bool, mark: inout Int64) {
    isProbing = false
    let shared = mark == 0 ? own : mark
    let slow = isSlow ? (shared < 0 ? -shared & Self.low : 0) + 1 : 0
    guard slow < Self.slowLimit else { return failed(at: now, mark: &mark) }
    // Another process may have found it silent meanwhile; an answer is the later news.
    let wanted = -((max(now, 16) & ~Self.low) | slow)
    if shared >= 0 || -shared & Self.low != slow { mark = wanted }
    own = wanted
  }

  /// The tier did not answer in time, or refused to.
  mutating func failed(at now: Int64, mark: inout Int64) {
    let wasProbing = isProbing
    isProbing = false
    let shared = mark == 0 ? own : mark
    // If several fail together, the first has already recorded it.
    let rest = (shared & ~Self.low) - now
    if !wasProbing, shared & Self.low > 0, rest > 0, rest <= Self.longest { return }
    let failures = min((shared > 0 ? shared & Self.low : 0) + 1, Self.low)
    let length = min(Self.shortest << (failures - 1), Self.longest)
    mark = (now + length) & ~Self.low | failures
    own = mark
  }

  /// A value did not open.
  /// - Returns: Whether that was one too many.
  mutating func didNotOpen(at now: Int64) -> Bool {
    unopened.removeAll { now - $0 > 60_000_000_000 }
    unopened.append(now)
    guard unopened.count >= Self.unopenedLimit else { return false }
    unopened = []
    return true
  }
}
