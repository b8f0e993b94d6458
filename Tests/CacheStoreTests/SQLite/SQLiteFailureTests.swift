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
      (SQLITE_IOERR | 18 << 8, EMFILE, false), (SQLITE_IOERR | 18 << 8, ENFILE, false),
      (SQLITE_IOERR | 17 << 8, 0, false),
      (SQLITE_IOERR | 22 << 8, 0, false), (SQLITE_CANTOPEN, 0, false),
    ])
  func ofSharedMemory(code: Int32, systemError: Int32, isOfSharedMemory: Bool) {
    let error = CacheStoreError.sqlite(code, systemError: systemError, path: "store.sqlite")
    #expect(error.isOfSharedMemory == isOfSharedMemory)
  }

  @Test(
    "the code gives the reason, for an I/O error together with the system's error",
    arguments: [
      (SQLITE_IOERR, ENOSPC, .full), (SQLITE_IOERR, EDQUOT, .full), (SQLITE_IOERR | 3 << 8, EFBIG, .full),
      (SQLITE_IOERR, EIO, .other), (SQLITE_IOERR | 2 << 8, 0, .corrupt), (SQLITE_ERROR, ENOSPC, .other),
      (SQLITE_CONSTRAINT | 3 << 8, 0, .signedOut), (SQLITE_CONSTRAINT, 0, .other),
      (SQLITE_BUSY, 0, .busy), (SQLITE_LOCKED, 0, .busy), (SQLITE_PROTOCOL, 0, .busy),
      (SQLITE_CORRUPT, 0, .corrupt), (SQLITE_FORMAT, 0, .corrupt), (SQLITE_NOTADB, 0, .foreignFile),
      (SQLITE_INTERRUPT, 0, .otherSchema), (SQLITE_FULL, 0, .full), (SQLITE_READONLY, 0, .readOnly),
      (SQLITE_CANTOPEN, 0, .cannotOpen), (SQLITE_PERM, 0, .cannotOpen), (SQLITE_AUTH, 0, .cannotOpen),
    ] as [(Int32, Int32, CacheStoreError.Reason)])
  func reason(code: Int32, systemError: Int32, reason: CacheStoreError.Reason) {
    #expect(CacheStoreError.sqlite(code, systemError: systemError, path: "store.sqlite").reason == reason)
  }

  @Test(
    "an error of the folder, unless the file was replaced or descriptors are used up",
    arguments: [
      (SQLITE_CANTOPEN, 0, true), (SQLITE_READONLY | 1 << 8, EACCES, true), (SQLITE_CANTOPEN, EMFILE, false),
      (SQLITE_READONLY | 4 << 8, 0, false), (SQLITE_IOERR, 0, false),
    ] as [(Int32, Int32, Bool)])
  func ofFolder(code: Int32, systemError: Int32, mayBeOfFolder: Bool) {
    let error = CacheStoreError.sqlite(code, systemError: systemError, path: "store.sqlite")
    #expect(error.mayBeOfFolder == mayBeOfFolder)
  }

  @Test func `a store that cannot be opened says what the system says of it, else what SQLite does`() {
    func message(_ systemError: Int32) -> String {
      CacheStoreError.sqlite(SQLITE_CANTOPEN, systemError: systemError, path: "store.sqlite").message
    }
    #expect(message(EACCES) == "cannot open the store store.sqlite: Permission denied")
    #expect(message(0) == "cannot open the store store.sqlite: unable to open database file")
    for systemError in [EMFILE, ENFILE] {
      #expect(
        message(systemError) == "cannot open the store store.sqlite: too many open files", "\(systemError)")
    }
  }
}
