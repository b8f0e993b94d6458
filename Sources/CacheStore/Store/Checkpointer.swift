internal import Dispatch
internal import Synchronization

/// Writes the log back into the database while others go on writing, through a connection of its own on a queue of its
/// own: what is left to be written back while everybody stands still, when the log begins anew, stays short.
final class Checkpointer: Sendable {
  private let opening: StoreOpener
  private let queue = DispatchQueue(label: "cachefetch.store.checkpoint")
  private let isUnderWay = Atomic(false)
  // nonisolated(unsafe): used on the queue only.
  nonisolated(unsafe) private var connection: Connection?

  init(_ opening: StoreOpener) { self.opening = opening }

  /// Begins a pass, where none is under way.
  func begin() {
    guard !isUnderWay.exchange(true, ordering: .relaxed) else { return }
    queue.async {
      self.pass()
      self.isUnderWay.store(false, ordering: .relaxed)
    }
  }

  /// Returns once no pass is under way; for the store's own queues only.
  func wait() { queue.sync {} }

  /// Whether a pass is under way.
  var isBusy: Bool { isUnderWay.load(ordering: .relaxed) }

  /// Waits for the pass under way and closes the file.
  func close() { queue.sync { connection = nil } }

  private func pass() {
    do throws(CacheStoreError) {
      if connection?.isCurrent != true { connection = try opening.openMade(waitingUntil: 0) }
      // Where another process writes back, this one need not.
      _ = try connection?.checkpoint(.passive)
    } catch {
      // What is wrong, whoever writes next finds and says; the next pass opens a connection of its own.
      connection = nil
    }
  }
}
