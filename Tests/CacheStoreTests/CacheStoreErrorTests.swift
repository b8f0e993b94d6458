import CSQLite
import TestTurns
import Testing

@testable import CacheStore

@Suite("Errors of the store", .inTurn) struct CacheStoreErrorTests {
  @Test func `a file is damaged where SQLite says so, or where it is none of the store's`() {
    for (error, isDamage) in [
      (.sqlite(SQLITE_CORRUPT, path: "s"), true), (.sqlite(SQLITE_NOTADB, path: "s"), true),
      (.sqlite(SQLITE_IOERR, path: "s"), false), (CacheStoreError(.corrupt, "a chunk is damaged"), false),
      (CacheStoreError(.foreignFile, "no store"), true), (.betweenRenames(path: "s"), true),
      (CacheStoreError(.busy, "in use"), false),
    ] as [(CacheStoreError, Bool)] { #expect(error.isDamage == isDamage, "\(error)") }
    #expect(CacheStoreError(.other, "x").sqliteCode == 0)
    #expect(CacheStoreError(.other, "x", remedy: nil).sqliteCode == 0)
  }

  @Test func `of a damaged file that may be written it is said that it is quarantined`() {
    let damaged = CacheStoreError.sqlite(SQLITE_CORRUPT, path: "s")
    let advised = damaged.advised(isReadOnly: false)
    #expect(advised.hint?.hasPrefix("it is quarantined") == true)
    #expect(advised.sqliteCode == SQLITE_CORRUPT && advised.message == damaged.message)
    #expect(damaged.advised(isReadOnly: true) == damaged)
    for other in [
      CacheStoreError(.corrupt, "a chunk is damaged"), .sqlite(SQLITE_FULL, path: "s"),
      CacheStoreError(.foreignFile, "no store"),
    ] { #expect(other.advised(isReadOnly: false) == other, "\(other)") }
  }

  @Test(
    "a needed rollback and a moved file are told from other refusals to write",
    arguments: [
      (SQLITE_READONLY, false, false), (SQLITE_READONLY | 3 << 8, true, false),
      (SQLITE_READONLY | 4 << 8, false, true), (SQLITE_IOERR | 3 << 8, false, false),
      (SQLITE_IOERR | 4 << 8, false, false),
    ] as [(Int32, Bool, Bool)])
  func readOnly(code: Int32, needsRollback: Bool, isMoved: Bool) {
    let error = CacheStoreError.sqlite(code, path: "s")
    #expect(error.needsRollback == needsRollback && error.isMoved == isMoved)
  }

  @Test func `without the system's word for it SQLite's is told`() {
    #expect(
      CacheStoreError.sqlite(SQLITE_CANTOPEN, path: "s").message
        == "cannot open the store s: unable to open database file")
  }

  @Test func `an error of too many open files is known by its end`() {
    #expect(CacheStoreError(.cannotOpen, "cannot open s: too many open files").isOfDescriptors)
    #expect(CacheStoreError(.cannotOpen, "cannot open s: too many open files").remedy == .descriptors)
    #expect(!CacheStoreError(.cannotOpen, "cannot open s").isOfDescriptors)
    #expect(!CacheStoreError(.cannotOpen, "too many open files: s").isOfDescriptors)
  }
}
