internal import CacheStore
internal import PlatformFoundation

/// A value and the bytes that it was made of.
struct WholeValue<Value: Sendable>: Sendable {
  let value: Value
  let data: Data
}

/// What a live sequence hands on of what its loads and its observer bring: nothing twice, and nothing that is older than what
/// was handed on (law 8). Pure.
///
/// A load and the observer tell of the same row in either order: the row is committed before the load delivers it.
struct LiveJudge<Value: Sendable> {
  typealias Response = DataService.Response<WholeValue<Value>>

  /// What tells one response from the next.
  private struct Seen {
    let started: StartMark?
    let receivedAt: Int64
    let data: Data
    /// Whether the observer brought it.
    let isObserved: Bool

    init(_ response: Response, isObserved: Bool) {
      started = response.head.started
      receivedAt = response.head.receivedAtMilliseconds
      data = response.value.data
      self.isObserved = isObserved
    }

    func isSame(as other: Seen) -> Bool {
      // Of two exchanges that began at the same instant, as where a clock stands still, the bytes tell.
      started == other.started && receivedAt == other.receivedAt && data == other.data
    }
  }

  /// When the sequence began.
  private let began: StartMark
  private var last: Seen?
  private var hasObserved = false

  init(began: StartMark) { self.began = began }

  /// The bytes that were handed on last, to compare others with.
  var lastData: Data? { last?.data }

  /// What of a load's delivery is handed on.
  mutating func loaded(
    _ delivery: DataService.Delivery<WholeValue<Value>>
  ) -> DataService.Delivery<Value>? {
    if let response = delivery.response {
      let seen = Seen(response, isObserved: false)
      if let last {
        if isBefore(seen, last) { return nil }
        // What a load has confirmed is news, however alike.
        let isStored = if case .stored = delivery { true } else { false }
        if seen.isSame(as: last), isStored || last.isObserved { return nil }
      }
      last = seen
    }
    return delivery.map { response in response.map(\.value) }
  }

  /// What of a row that the observer has seen is handed on: as fresh, since an exchange has just brought it to the store, unless
  /// the program itself has stored it.
  ///
  /// - Parameter change: How it compares with ``lastData``.
  mutating func observed(
    _ response: Response?, _ change: DataService.Change
  ) -> DataService.Delivery<Value>? {
    defer { hasObserved = true }
    guard let response else { return nil }
    let seen = Seen(response, isObserved: true)
    if let last {
      guard !isBefore(seen, last), !seen.isSame(as: last) else { return nil }
    } else if !hasObserved {
      // What was stored before is for the load to deliver, where the policy wants it.
      guard let started = seen.started, began.isBefore(started) else { return nil }
    }
    last = seen
    let value = response.map(\.value)
    return response.isLocal ? .stored(value) : .fresh(value, change)
  }

  /// Whether one exchange began before another; one of another boot, or an imported row, before all of this one.
  private func isBefore(_ one: Seen, _ other: Seen) -> Bool {
    guard let first = one.started, let second = other.started else { return false }
    return first.isBefore(second) || (first.boot != began.boot && second.boot == began.boot)
  }
}
