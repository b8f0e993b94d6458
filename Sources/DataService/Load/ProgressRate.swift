/// Bounds how often a load tells of its progress. Pure: the clock's reading is passed in.
///
/// What comes too soon is held and told at the end of the interval, so that a transfer that stalls shows how far it has
/// come; the last piece of a body whose length is known is told at once.
struct ProgressRate {
  /// What to do about an update.
  enum Step: Equatable {
    case tell
    /// Ask ``due(at:)`` after so long.
    case wait(Duration)
    /// Somebody will ask already.
    case hold
  }

  static let interval: Int64 = 50_000_000

  private var lastTold: Int64?
  private var held: DataService.TransferProgress?

  /// Takes an update in.
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

  /// The update that was held back, to be told now; `nil` where a newer one has been told since.
  mutating func due(at now: Int64) -> DataService.TransferProgress? {
    guard let update = held else { return nil }
    lastTold = now
    held = nil
    return update
  }

  /// Forgets what is held: the body is whole, or nobody wants to know any more.
  mutating func end() { held = nil }
}
