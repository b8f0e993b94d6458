import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore
@testable import RedisTier

@Suite("Counts of the second tier, beside the store", .inTurn) struct TierCountFileTests {
  private static let isRoot = geteuid() == 0

  @Test func `they are added up in one line of five numbers`() throws {
    let folder = try TemporaryFolder()
    let file = TierCountFile(path: folder.file("store.sqlite.tier"))
    #expect(file.counts == TierCounts() && !folder.contains("store.sqlite.tier"))
    file.add(TierCounts(asked: 12, offered: 3, waitedMicroseconds: 7))
    #expect(try folder.text(of: "store.sqlite.tier") == "12 0 3 0 7\n")
    file.add(TierCounts(asked: 1, stored: 20, silent: 400))
    #expect(try folder.text(of: "store.sqlite.tier") == "13 20 3 400 7\n")
    #expect(
      file.counts
        == TierCounts(asked: 13, stored: 20, offered: 3, silent: 400, waitedMicroseconds: 7))
    #expect(FileStatus(path: file.path)?.mode == 0o600)
    #expect(try openFiles(below: folder.path).isEmpty)
  }

  @Test func `the largest numbers are read, and stay the largest`() throws {
    let folder = try TemporaryFolder()
    let file = TierCountFile(path: folder.file("store.sqlite.tier"))
    let most = TierCounts(
      asked: .max, stored: .max, offered: .max, silent: .max, waitedMicroseconds: .max)
    for _ in 0..<2 {
      file.add(most)
      #expect(file.counts == most)
    }
  }

  @Test(arguments: [
    "", "\n", "1 2 3 4\n", "1 2 3 4 5 6\n", "1 -2 3 4 5\n", "1 b 3 4 5\n", "one two three four five\n",
  ])
  func `what is no such line counts nothing`(text: String) throws {
    let folder = try TemporaryFolder()
    let file = TierCountFile(path: folder.file("store.sqlite.tier"))
    try folder.write(text, to: "store.sqlite.tier")
    #expect(file.counts == TierCounts())
    try folder.write("1 2 3 4 5", to: "store.sqlite.tier")
    #expect(file.counts == TierCounts(asked: 1, stored: 2, offered: 3, silent: 4, waitedMicroseconds: 5))
  }

  @Test func `a link, and a second name of another file, are not written`() throws {
    let folder = try TemporaryFolder()
    let file = TierCountFile(path: folder.file("store.sqlite.tier"))
    let theirs = try folder.write("1 2 3 4\n", to: "theirs")
    #expect(link(theirs, file.path) == 0)
    file.add(TierCounts(asked: 5))
    #expect(try folder.text(of: "theirs") == "1 2 3 4\n")
    #expect(unlink(file.path) == 0)
    #expect(symlink(theirs, file.path) == 0)
    file.add(TierCounts(asked: 5))
    #expect(try folder.text(of: "theirs") == "1 2 3 4\n")
    #expect(file.counts == TierCounts())
  }

  @Test(.enabled(if: isRoot, "only the administrator can give files away"))
  func `another user's file is not written`() throws {
    let folder = try TemporaryFolder()
    let file = TierCountFile(path: folder.file("store.sqlite.tier"))
    try folder.write("1 2 3 4\n", to: "store.sqlite.tier")
    #expect(chown(file.path, 65_534, 65_534) == 0)
    file.add(TierCounts(asked: 5))
    #expect(try folder.text(of: "store.sqlite.tier") == "1 2 3 4\n")
  }

  @Test func `they are added beside a store that is there and may be written, and nothing makes no file`()
    async throws
  {
    let folder = try TemporaryFolder()
    var configuration = StoreConfiguration.unhurried(path: folder.file("store.sqlite"))
    let store = ResponseStore(configuration: configuration)
    let counts = TierCounts(asked: 1, silent: 2)
    store.add(counts)
    #expect(try folder.names().isEmpty)
    _ = try await store.accountID(named: "")
    store.add(TierCounts())
    configuration.isReadOnly = true
    let reader = ResponseStore(configuration: configuration)
    reader.add(counts)
    #expect(!folder.contains("store.sqlite.tier"))
    store.add(counts)
    #expect(store.tierCounts == counts && reader.tierCounts == counts)
  }

  @Test func `they are kept in a program without standard input, whose descriptor is 0`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      close(0)
      let file = TierCountFile(path: folder.file("store.sqlite.tier"))
      file.add(TierCounts(asked: 12))
      file.add(TierCounts(asked: 1))
      try #require(file.counts == TierCounts(asked: 13))
      try #require(openFiles(below: folder.path).isEmpty, "what was opened is closed again")
    }
  }

  @Test(
    "Every number of one count is added to that of the other",
    arguments: [\TierCounts.asked, \.stored, \.offered, \.silent])
  func sum(number: any WritableKeyPath<TierCounts, Int64> & Sendable) {
    var (left, right) = (TierCounts(), TierCounts())
    left[keyPath: number] = 3
    right[keyPath: number] = 4
    left += right
    var expected = TierCounts()
    expected[keyPath: number] = 7
    #expect(left == expected)
    left[keyPath: number] = .max
    left += right
    expected[keyPath: number] = .max
    #expect(left == expected)
  }
}
