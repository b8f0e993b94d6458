import Guards
import TestTurns
import Testing

@Suite("The order of locks", .inTurn) struct GuardedTests {
  /// One lock that is taken inside another.
  enum Nesting: String, CaseIterable, Codable, Sendable {
    case valueInValue, workInValue, workInWork, freeValueInValue, freeWorkInValue, freeWorkInWork
    case valueInWork, freeValueInWork, workAfterWork

    func take() {
      let value = Guarded(0)
      let inner = Guarded(0)
      let work = GuardedWork(0)
      let other = GuardedWork(0)
      switch self {
      case .valueInValue: value.withLock { _ in inner.withLock { $0 += 1 } }
      case .workInValue: value.withLock { _ in work.withLock { $0 += 1 } }
      case .workInWork: work.withLock { _ in other.withLock { $0 += 1 } }
      case .freeValueInValue: value.withLock { _ in _ = inner.withLockIfAvailable { $0 += 1 } }
      case .freeWorkInValue: value.withLock { _ in _ = work.withLockIfAvailable { $0 += 1 } }
      case .freeWorkInWork: work.withLock { _ in _ = other.withLockIfAvailable { $0 += 1 } }
      case .valueInWork:
        work.withLock { _ in
          value.withLock { $0 += 1 }
          inner.withLock { $0 += 1 }
        }
      case .freeValueInWork: _ = work.withLockIfAvailable { _ in value.withLockIfAvailable { $0 += 1 } }
      case .workAfterWork:
        work.withLock { $0 += 1 }
        other.withLock { $0 += 1 }
      }
    }

    static let allowed: [Nesting] = [.valueInWork, .freeValueInWork, .workAfterWork]
    static let refused = allCases.filter { !allowed.contains($0) }
  }

  #if DEBUG
    @Test(
      "a thread that takes a lock inside another, or a piece of work inside one, is stopped",
      arguments: Nesting.refused)
    func refused(nesting: Nesting) async {
      await #expect(processExitsWith: .failure) { [nesting] in nesting.take() }
    }
  #endif

  @Test(
    "in a piece of work values may be used, and what is over may be followed by another",
    arguments: Nesting.allowed)
  func allowed(nesting: Nesting) { nesting.take() }

  @Test func `what is held already is not waited for`() {
    let work = GuardedWork(0)
    #expect(work.withLock { _ in work.withLockIfAvailable { $0 += 1 } } == nil)
    let value = Guarded(0)
    #expect(value.withLock { _ in value.withLockIfAvailable { $0 += 1 } } == nil)
  }
}
