import CSQLite
import PlatformC
import TestTurns
import Testing

@testable import CacheStore

@Suite("A connection's settings", .inTurn) struct ConnectionTests {
  @Test(arguments: [Database.Purpose.writing, .reading, .readingAlone, .readingUnlocked, .readingUnchanging])
  func `whatever it is for, a crafted file can run nothing, and references are kept`(
    purpose: Database.Purpose
  )
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    let files = StoreFiles(path: fixture.path)
    let connection = try Connection(path: files.resolved(), named: files.database, for: purpose, nil)
    #expect(try connection.integer("PRAGMA trusted_schema") == 0)
    #expect(try connection.integer("PRAGMA foreign_keys") == 1)
    #expect(sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, -1) == 64 << 20)
  }

  @Test func `whoever writes has the settings of a writer, be the store new or not`() async throws {
    let fixture = try StoreFixture()
    for (name, store) in [("new", fixture.store), ("not new", fixture.another())] {
      let settings = try await store.writer.perform { (connection) throws(CacheStoreError) -> [Int64?] in
        var settings: [Int64?] = []
        for name in [
          "synchronous", "temp_store", "cell_size_check", "secure_delete", "cache_size", "journal_size_limit",
        ] { settings.append(try connection.integer("PRAGMA \(name)")) }
        return settings
      }
      #expect(settings == [1, 2, 1, 0, -1024, 10_485_760], "\(name)")
      await store.close()
    }
  }

  @Test func `of an error of reading or writing that names no cause the log is asked, and of no other`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    let files = StoreFiles(path: fixture.path)
    let connection = try Connection(path: files.resolved(), named: files.database, for: .reading, nil)
    #expect(try connection.integer("SELECT count(*) FROM account") == 1)
    var file: UnsafeMutablePointer<sqlite3_file>?
    sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
    guard let log = file, let own = log.pointee.pMethods else {
      Issue.record("there is no log")
      return
    }
    var methods = own.pointee
    methods.xFileControl = { (_, operation, number) in
      if operation == SQLITE_FCNTL_LAST_ERRNO { number?.storeBytes(of: EMFILE, as: Int32.self) }
      return SQLITE_OK
    }
    withUnsafePointer(to: methods) { changed in
      log.pointee.pMethods = changed
      for (code, reason) in [
        (SQLITE_IOERR, .cannotOpen), (SQLITE_IOERR | 3 << 8, .cannotOpen), (SQLITE_FULL, .full),
        (SQLITE_BUSY, .busy), (SQLITE_ERROR, .other),
      ] as [(Int32, CacheStoreError.Reason)] {
        #expect(connection.failure(code, sql: nil).reason == reason, "\(code)")
      }
      log.pointee.pMethods = own
    }
    await fixture.store.close()
  }
}
