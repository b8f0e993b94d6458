internal import Synchronization

/// A load, whatever its value.
protocol AnyLoad: AnyObject, Sendable {
  /// What is asked; `nil` for a load that was refused.
  var request: PreparedRequest? { get }
  func cancel()
  func finished() async
  /// Ends with this failure, and nothing of what is stored.
  func fence(_ error: DataServiceError)
}

/// The loads under way. It keeps them alive: a dropped handle does not cancel.
final class LoadRegistry: Sendable {
  private let loads = Mutex<[ObjectIdentifier: any AnyLoad]>([:])

  func add(_ load: any AnyLoad) { loads.withLock { $0[ObjectIdentifier(load)] = load } }

  func remove(_ load: any AnyLoad) { loads.withLock { $0[ObjectIdentifier(load)] = nil } }

  var all: [any AnyLoad] { loads.withLock { Array($0.values) } }
}
