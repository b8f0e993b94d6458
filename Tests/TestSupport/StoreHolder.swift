/// Another process that holds a store's database: it has said so when this object is there, and is told to let go.
public final class StoreHolder: Sendable {
  /// How the database is held.
  public enum Kind: String, Sendable {
    /// In `locking_mode=EXCLUSIVE`: nobody else reads or writes.
    case exclusive
    /// In a reading transaction, which keeps the log from being emptied.
    case reading
    /// In a writing transaction.
    case writing
  }

  /// The process did not get the database.
  public struct Failed: Error {
    /// What it said.
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

  /// As the system calls it.
  public var processID: Int32 { process.pid }

  /// Returns when the process has let go of the database; it lives on.
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
