internal import Guards

/// The changes of rows that wait for one transaction, in the order of their arrival.
///
/// No write waits for later ones: one alone is a group of one. The first of a group enqueues the transaction at the end
/// of the caller's turn, and the writes added until it runs join it. The slower the disk, the larger the group.
final class WriteGroup: Sendable {
  /// The most writes and bytes of one transaction: they bound what a killed process loses, and how long other
  /// processes wait for the lock.
  private static let mostWrites = 64
  static let mostBytes = 1 << 20

  private let waiting = Guarded<[any GroupedWrite]>([])

  /// Adds a write; `true` for the first, whose caller enqueues the transaction.
  func add(_ write: any GroupedWrite) -> Bool {
    waiting.withLock { waiting in
      waiting.append(write)
      return waiting.count == 1
    }
  }

  /// The number of waiting writes.
  var count: Int { waiting.withLock { $0.count } }

  /// Takes the next writes; with `isMore`, the caller enqueues another transaction.
  func take() -> (writes: [any GroupedWrite], isMore: Bool) {
    waiting.withLock { waiting in
      var bytes = 0
      let count = waiting.prefix(Self.mostWrites).prefix { write in
        bytes += write.bytes
        return bytes <= Self.mostBytes
      }.count
      let taken = Array(waiting.prefix(max(1, count)))
      waiting.removeFirst(taken.count)
      return (taken, !waiting.isEmpty)
    }
  }
}

/// One write of a group, and its completion.
protocol GroupedWrite: AnyObject, Sendable {
  /// The approximate number of bytes it writes.
  var bytes: Int { get }
  /// Monotonic nanoseconds until which it may wait for other processes' locks.
  var deadline: Int64 { get }
  /// Runs inside the group's transaction; runs again where that transaction was rolled back.
  func run(_ connection: Connection) throws(CacheStoreError)
  /// Reports the result of `run` after the commit, or the error that prevented it.
  func end(_ error: CacheStoreError?)
}

/// A grouped write that returns a result.
// @unchecked: `result` is only ever used on the write queue.
final class GroupedWork<Result: Sendable>: GroupedWrite, @unchecked Sendable {
  let bytes: Int
  let deadline: Int64
  private let work: @Sendable (Connection) throws(CacheStoreError) -> Result
  private let completion: @Sendable (Swift.Result<Result, CacheStoreError>) -> Void
  private var result: Result?

  init(
    bytes: Int, deadline: Int64, work: @escaping @Sendable (Connection) throws(CacheStoreError) -> Result,
    completion: @escaping @Sendable (Swift.Result<Result, CacheStoreError>) -> Void
  ) {
    self.bytes = bytes
    self.deadline = deadline
    self.work = work
    self.completion = completion
  }

  func run(_ connection: Connection) throws(CacheStoreError) { result = try work(connection) }

  func end(_ error: CacheStoreError?) {
    if let error { return completion(.failure(error)) }
    guard let result else { preconditionFailure("a write that was committed has run") }
    completion(.success(result))
  }
}
