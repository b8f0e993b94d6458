internal import CacheStore
internal import Dispatch
internal import Synchronization

/// Calls of the store's that come back at once on a disk that answers: made where they are wanted, or, where the store is
/// kept apart, on a queue of their own, and waited for no longer than a delivery waits.
final class StoreCalls: Sendable {
  private let queue = DispatchQueue(label: "cachefetch.store.calls")
  /// How many calls are waited for no longer, and have not come back yet: none that follows would either.
  private let late = Atomic(0)
  private let isApart: Bool

  init(isApart: Bool) { self.isApart = isApart }

  /// What the call comes to; `nil` where it does not come back in time, in which case `late` is told of it once it does.
  ///
  /// A call is made even where its result is no longer awaited.
  nonisolated(nonsending) func result<Value: Sendable>(
    _ waiting: StoreWaiting, late abandon: (@Sendable (Value) -> Void)? = nil,
    of call: @escaping @Sendable () -> Value
  ) async -> Value? {
    guard isApart else { return call() }
    let first = FirstValue<Value?>()
    let isHeldUp = late.load(ordering: .relaxed) > 0
    if isHeldUp { first.set(nil) }
    queue.async {
      let value = call()
      if !first.set(value) { abandon?(value) }
    }
    guard let value = await waiting.value(of: first) else {
      if !isHeldUp { noteLate() }
      return nil
    }
    return value
  }

  /// Makes a call whose end nobody awaits: at once, or, where the store is kept apart, on the queue.
  func perform(_ call: @escaping @Sendable () -> Void) {
    if isApart { queue.async(execute: call) } else { call() }
  }

  private func noteLate() {
    late.wrappingAdd(1, ordering: .relaxed)
    queue.async { self.late.wrappingSubtract(1, ordering: .relaxed) }
  }
}

extension ServiceCore {
  /// Makes a call of the store's as ``StoreCalls`` says.
  nonisolated(nonsending) func storeCall<Value: Sendable>(
    late: (@Sendable (Value) -> Void)? = nil, _ call: @escaping @Sendable () -> Value
  ) async -> Value? {
    await storeCalls.result(commitWaiting, late: late, of: call)
  }
}
