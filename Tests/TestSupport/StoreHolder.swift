/// Another process that holds a store's database, from the end of `init` until `release`.
public final class StoreHolder: Sendable {
  /// How the database is held.
  public enum Kind: String, Sendable {
    /// In `locking_mode=EXCLUSIVE`: no other process reads or writes.
    case exclusive
    /// In a read transaction, which keeps a checkpoint from resetting the log.
    case reading
    /// In a write transaction.
    case writing
    /// By locks on the lock file, the database and the log's index, which last until the process ends.
    case locks
    /// By a lock on the log's index.
    case index
  }

  /// The process did not get the database.
  public struct Failed: Error {
    /// The process's output.
    public let output: String
  }

  private let process: ChildProcess

  /// Starts the process and waits until it holds the database.
  public init(_ kind: Kind, _ path: String) async throws {
    process = try ChildProcess(BuiltProduct.path("StoreDriver"), ["hold", path, kind.rawValue], input: nil)
    guard await process.output.waits(for: "holding\n") else {
      throw Failed(output: process.output.text + process.errors.text)
    }
  }

  /// The process's ID.
  public var processID: Int32 { process.pid }

  /// Has the process release the database, and returns when it has; the process keeps running.
  public func release() async {
    process.write(Array("release\n".utf8))
    await process.output.waits(for: "released\n")
  }

  /// Ends the process.
  public func end() async {
    process.closeInput()
    _ = await process.exit()
  }
}
