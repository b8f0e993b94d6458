internal import Synchronization

/// Keeps a callback from starting after `cancel` has returned (law 11).
final class CallbackGate: Sendable {
  private let isClosed = Atomic(false)

  func mayCall() -> Bool { !isClosed.load(ordering: .acquiring) }

  func close() { isClosed.store(true, ordering: .releasing) }
}
