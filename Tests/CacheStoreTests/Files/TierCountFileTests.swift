import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Counts of the second tier, beside the store", .inTurn) struct TierCountFileTests {
  private static let isRoot = geteuid() == 0

  @Test func `they are added up in one line of four numbers`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let file = TierCountFile(files: files)
    #expect(file.counts == TierCounts() && !folder.contains("store.sqlite.tier"))
    file.add(TierCounts(asked: 12, offered: 3))
    #expect(try folder.text(of: "store.sqlite.tier") == "12 0 3 0\n")
    file.add(TierCounts(asked: 1, stored: 20, silent: 400))
    #expect(try folder.text(of: "store.sqlite.tier") == "13 20 3 400\n")
    #expect(file.counts == TierCounts(asked: 13, stored: 20, offered: 3, silent: 400))
    #expect(FileStatus(path: files.tierCounts)?.mode == 0o600)
    #expect(try openFiles(below: folder.path).isEmpty)
  }

  @Test func `the largest numbers are read, and stay the largest`() throws {
    let folder = try TemporaryFolder()
    let file = TierCountFile(files: StoreFiles(path: folder.file("store.sqlite")))
    let most = TierCounts(asked: .max, stored: .max, offered: .max, silent: .max)
    for _ in 0..<2 {
      file.add(most)
      #expect(file.counts == most)
    }
  }

  @Test(arguments: ["", "\n", "1 2 3\n", "1 2 3 4 5\n", "1 -2 3 4\n", "1 b 3 4\n", "one two three four\n"])
  func `what is no such line counts nothing`(text: String) throws {
    let folder = try TemporaryFolder()
    let file = TierCountFile(files: StoreFiles(path: folder.file("store.sqlite")))
    try folder.write(text, to: "store.sqlite.tier")
    #expect(file.counts == TierCounts())
    try folder.write("1 2 3 4", to: "store.sqlite.tier")
    #expect(file.counts == TierCounts(asked: 1, stored: 2, offered: 3, silent: 4))
  }

  @Test func `a link, and a second name of another file, are not written`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let theirs = try folder.write("1 2 3 4\n", to: "theirs")
    #expect(link(theirs, files.tierCounts) == 0)
    TierCountFile(files: files).add(TierCounts(asked: 5))
    #expect(try folder.text(of: "theirs") == "1 2 3 4\n")
    #expect(unlink(files.tierCounts) == 0)
    #expect(symlink(theirs, files.tierCounts) == 0)
    TierCountFile(files: files).add(TierCounts(asked: 5))
    #expect(try folder.text(of: "theirs") == "1 2 3 4\n")
    #expect(TierCountFile(files: files).counts == TierCounts())
  }

  @Test(.enabled(if: isRoot, "only the administrator can give files away"))
  func `another user's file is not written`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    try folder.write("1 2 3 4\n", to: "store.sqlite.tier")
    #expect(chown(files.tierCounts, 65_534, 65_534) == 0)
    TierCountFile(files: files).add(TierCounts(asked: 5))
    #expect(try folder.text(of: "store.sqlite.tier") == "1 2 3 4\n")
  }
}
