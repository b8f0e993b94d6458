internal import CTestSupport

/// A place for a new store: a fresh folder and the path of a database in it that does not exist yet.
public final class TemporaryStore: Sendable {
  /// The folder of the database and of the files that SQLite and the store put beside it.
  public let folder: TemporaryFolder

  /// The path of the database file.
  public let path: String

  /// Makes the folder; the store under test makes the file.
  public init() throws {
    folder = try TemporaryFolder()
    path = folder.file("store.sqlite")
  }

  /// Reads rows on a separate connection, independent of the code under test.
  public func rows(_ sql: String) throws -> [[SQLiteValue]] { try RawDatabase(path).rows(sql) }

  /// The first value of the first row.
  public func value(_ sql: String) throws -> SQLiteValue { try rows(sql).first?.first ?? .null }

  /// Runs statements on a separate connection, to damage or age a store.
  public func execute(_ sql: String) throws { try RawDatabase(path).execute(sql) }

  /// Whether a text occurs in any file of the folder: the database, its log or others.
  public func filesContain(_ text: String) throws -> Bool {
    let wanted = Array(text.utf8)
    return try folder.names().contains { name in
      do {
        let bytes = try folder.bytes(of: name)
        return testsupport_contains(bytes, bytes.count, wanted, wanted.count) != 0
      } catch {
        // The store removes files of its own at any time, also between the list and the reading.
        if !folder.contains(name) { return false }
        throw error
      }
    }
  }
}
