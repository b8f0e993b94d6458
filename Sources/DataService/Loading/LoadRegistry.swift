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
///
/// A list, not a dictionary: few are under way at once, and the first use of a dictionary with another type of key costs
/// a program that starts 50 to 100 µs (docs/performance.md).
final class LoadRegistry: Sendable {
  private let loads = Mutex<[any AnyLoad]>([])

  func add(_ load: any AnyLoad) { loads.withLock { $0.append(load) } }

  func remove(_ load: any AnyLoad) {
    loads.withLock { loads in
      // Most loads end in the order in which they began, or at once.
      guard let place = loads.last === load ? loads.count - 1 : loads.firstIndex(where: { $0 === load })
      else {
        return
      }
      loads.swapAt(place, loads.count - 1)
      loads.removeLast()
    }
  }

  var all: [any AnyLoad] { loads.withLock { $0 } }
}
