import FixtureServer
import PlatformC
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("A repaired file on the way to its place", .inTurn) struct RepairedFileTests {
  @Test func `a store is never missing while its repaired file is moved into place`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    try folder.write("x", to: "store.sqlite.repaired")
    let rounds = 100
    let round = Mutex(0)
    // On a thread of its own, so that the move falls between any two looks of this one.
    BackgroundThread.start {
      for next in 1...rounds {
        while round.withLock({ $0 }) < next { sched_yield() }
        rename(files.repaired, files.database)
      }
    }
    var missing = 0
    for next in 1...rounds {
      round.withLock { $0 = next }
      while FileStatus(path: files.database) == nil {
        if files.isMissing { missing += 1 }
        sched_yield()
      }
      rename(files.database, files.repaired)
    }
    #expect(missing == 0)
  }
}
