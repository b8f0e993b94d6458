import CSQLite
import PlatformC
import TestTurns
import Testing

@testable import CacheStore

@Suite("What an error of SQLite is taken for", .inTurn) struct SQLiteFailureTests {
  @Test(
    "an index of the log that cannot be shared, unless descriptors are used up",
    arguments: [
      (SQLITE_IOERR | 18 << 8, 0, true), (SQLITE_IOERR | 21 << 8, ENOENT, true),
      (SQLITE_IOERR | 18 << 8, EMFILE, false), (SQLITE_IOERR | 17 << 8, 0, false),
      (SQLITE_IOERR | 22 << 8, 0, false), (SQLITE_CANTOPEN, 0, false),
    ])
  func ofSharedMemory(code: Int32, systemError: Int32, isOfSharedMemory: Bool) {
    let error = CacheStoreError.sqlite(code, systemError: systemError, path: "store.sqlite")
    #expect(error.isOfSharedMemory == isOfSharedMemory)
  }
}
