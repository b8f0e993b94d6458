internal import Dispatch
internal import Synchronization

/// Checkpoints the log while other connections write, on its own connection and queue, so that little is left to
/// checkpoint when the log restarts and every writer waits.
final class Checkpointer: Sendable {
  private let opening: StoreOpener
  private let queue = DispatchQueue(label: "cachefetch.store.checkpoint")
  private let isUnderWay = Atomic(false)
  // nonisolated(unsafe): used on `queue` only.
  nonisolated(unsafe) private var connection: Connection?

  init(_ opening: StoreOpener) { self.opening = opening }

  /// Begins a checkpoint, where none is running.
  func begin() {
    guard !isUnderWay.exchange(true, ordering: .relaxed) else { return }
    queue.async {
      self.pass()
      self.isUnderWay.store(false, ordering: .relaxed)
    }
  }

  /// Returns once no checkpoint is running; for the store's own queues only.
  func wait() { queue.sync {} }

  /// Whether a checkpoint is running.
  var isBusy: Bool { isUnderWay.load(ordering: .relaxed) }

  /// Waits for a running checkpoint and closes the file.
  func close() { queue.sync { connection = nil } }

  private func pass() {
    do throws(CacheStoreError) {
      if connection?.isCurrent != true { connection = try opening.openExisting(waitingUntil: 0) }
      // Where another process is running a checkpoint, this one is not needed.
      _ = try connection?.checkpoint(.passive)
    } catch {
      // The next write meets the same error and reports it; the next checkpoint opens a new connection.
      connection = nil
    }
  }
}
