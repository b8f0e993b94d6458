/// Limits how often a load reports progress. Pure: the caller passes the clock's reading.
///
/// An early update is held and reported at the end of the interval, so that the last report of a stalled transfer is
/// current. The final update of a body of known length is reported at once.
struct ProgressRate {
  /// How to proceed with an update.
  enum Step: Equatable {
    case tell
    /// Call ``due(at:)`` after this time.
    case wait(Duration)
    /// Do nothing; a call of ``due(at:)`` is already scheduled.
    case hold
  }

  static let interval: Int64 = 50_000_000

  private var lastTold: Int64?
  private var held: DataService.TransferProgress?

  /// Records an update.
  mutating func take(_ update: DataService.TransferProgress, at now: Int64) -> Step {
    let left = (lastTold ?? now - Self.interval) + Self.interval - now
    if left <= 0 || update.received == update.expected {
      lastTold = now
      held = nil
      return .tell
    }
    defer { held = update }
    return held == nil ? .wait(.nanoseconds(left)) : .hold
  }

  /// The held update, to be reported now; `nil` if a newer one has been reported since.
  mutating func due(at now: Int64) -> DataService.TransferProgress? {
    guard let update = held else { return nil }
    lastTold = now
    held = nil
    return update
  }

  /// Drops the held update: the body is complete, or the load is over.
  mutating func end() { held = nil }
}
