internal import Synchronization

/// Small writes on their way into one transaction, in the order they came.
///
/// No write waits for others to come: the first asks the write queue for its turn, at the end of the turn of the thread that
/// brings them, and what has come by then goes along.
/// The slower the disk, the more that is.
final class WriteGroup: Sendable {
  /// The most writes, and bytes, of one transaction: what a killed process may lose, and how long others wait for it.
  static let mostWrites = 64
  static let mostBytes = 1 << 20

  private let waiting = Mutex<[any GroupedWrite]>([])

  /// Adds a write; `true` for the first, who asks for a turn.
  func add(_ write: any GroupedWrite) -> Bool {
    waiting.withLock { waiting in
      waiting.append(write)
      return waiting.count == 1
    }
  }

  /// How many wait.
  var count: Int { waiting.withLock { $0.count } }

  /// Takes the next ones; with `isMore`, another turn is needed.
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

/// One of a group's writes, and whoever waits for what becomes of it.
protocol GroupedWrite: AnyObject, Sendable {
  /// About how much it writes.
  var bytes: Int { get }
  /// Until when it may wait for other processes.
  var deadline: Int64 { get }
  /// Runs inside the group's transaction; it may run again, where that was undone.
  func run(_ connection: Connection) throws(CacheStoreError)
  /// Tells whoever waits: what `run` came to is committed, or why it is not.
  func end(_ error: CacheStoreError?)
}

/// A write of some kind.
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
