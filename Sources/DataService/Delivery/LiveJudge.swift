internal import CacheStore
internal import PlatformFoundation

/// A value and the bytes it was made from.
struct WholeValue<Value: Sendable>: Sendable {
  let value: Value
  let data: Data
}

/// Decides which deliveries of its loads and its observer a live sequence passes on: no response twice, and none
/// older than the last (law 8). Pure.
///
/// A load and the observer report the same row in either order, since the row is committed before the load delivers
/// it.
struct LiveJudge<Value: Sendable> {
  typealias Response = DataService.Response<WholeValue<Value>>

  /// The identity of a response.
  private struct Seen {
    let started: StartMark?
    let receivedAt: Int64
    let data: Data
    /// Whether the observer reported it.
    let isObserved: Bool

    init(_ head: DataService.ResponseHead, _ data: Data, isObserved: Bool) {
      started = head.started
      receivedAt = head.receivedAtMilliseconds
      self.data = data
      self.isObserved = isObserved
    }

    func isSame(as other: Seen) -> Bool {
      // Two exchanges may begin at the same instant, for example while a clock stands still; then the bytes decide.
      started == other.started && receivedAt == other.receivedAt && data == other.data
    }
  }

  /// When the sequence began.
  private let began: StartMark
  private var last: Seen?
  private var hasObserved = false
  /// The invalidated row that the observer has seen, if no load has failed since.
  private var invalid: Seen?
  /// The last row of the program's own that the observer has seen.
  private var local: Seen?
  /// Whether the last load was told that there is nothing any more, which marks the row that stays.
  private var isGone = false
  /// The instant of the judgement, in nanoseconds since boot.
  var now = Int64.max

  init(began: StartMark) { self.began = began }

  /// The bytes passed on last, for comparison.
  var lastData: Data? { last?.data }

  /// The delivery to pass on for a load's delivery, if any.
  mutating func loaded(
    _ delivery: DataService.Delivery<WholeValue<Value>>
  ) -> DataService.Delivery<Value>? {
    if case .failure = delivery { invalid = nil }
    isGone = [404, 410].contains(delivery.error?.status)
    if let response = delivery.response {
      let seen = Seen(response.head, response.value.data, isObserved: false)
      if let last {
        if isBefore(seen, last) { return nil }
        // A load's confirmation is news, even if the bytes are the same.
        let isStored = if case .stored = delivery { true } else { false }
        if seen.isSame(as: last), isStored || last.isObserved {
          // The observer was faster by one delivery, and the next confirmation is news again.
          if !isStored { self.last = seen }
          return nil
        }
      }
      last = seen
    }
    return delivery.map { response in response.map(\.value) }
  }

  /// The delivery to pass on for a row that the observer has seen, if any: as fresh, since an exchange has just
  /// stored it, unless the program itself has stored it.
  ///
  /// - Parameter change: The row's comparison with what the reader was given last.
  mutating func observed(
    _ response: Response?, _ change: DataService.Change
  ) -> DataService.Delivery<Value>? {
    defer { hasObserved = true }
    guard let response, isNews(response.head, response.value.data) else { return nil }
    let seen = Seen(response.head, response.value.data, isObserved: true)
    let isTakenBack = last.map { isBefore(seen, $0) } ?? false
    last = seen
    let value = response.map(\.value)
    return response.isLocal || isTakenBack ? .stored(value) : .fresh(value, change)
  }

  /// Whether a row that the observer has seen is to be passed on.
  func isNews(_ head: DataService.ResponseHead, _ data: Data) -> Bool {
    let seen = Seen(head, data, isObserved: true)
    // What comes after a row of the program's own, and is older, was there before: that has been taken back.
    if let last {
      return !seen.isSame(as: last) && (!isBefore(seen, last) || local?.isSame(as: last) == true)
    }
    // A row stored before the sequence began is delivered by the load, if the policy wants it.
    return hasObserved || (seen.started.map { began.isBefore($0) } ?? false)
  }

  /// Notes what the observer has seen of the program's own.
  mutating func sawLocal(_ head: DataService.ResponseHead, _ data: Data) {
    local = Seen(head, data, isObserved: true)
  }

  /// Notes that somebody has invalidated what is stored.
  mutating func invalidated(_ head: DataService.ResponseHead, _ data: Data) {
    let seen = Seen(head, data, isObserved: true)
    if !isGone || last.map({ isBefore($0, seen) }) == true { invalid = seen }
  }

  /// Whether the origin is to be asked because what was passed on last, or nothing newer, is invalid; said once.
  mutating func takeInvalidation() -> Bool {
    defer { invalid = nil }
    return invalid.map { invalid in last.map { !isBefore(invalid, $0) } ?? true } ?? false
  }

  /// Whether one exchange began before the other. An exchange of another boot, or an imported row, counts as earlier
  /// than all of this boot. A mark of this boot that is later than now cannot be right, and nothing is before it.
  private func isBefore(_ one: Seen, _ other: Seen) -> Bool {
    guard let first = one.started, let second = other.started else { return false }
    guard second.boot != began.boot || second.nanoseconds <= now else { return false }
    return first.isBefore(second) || (first.boot != began.boot && second.boot == began.boot)
  }
}
