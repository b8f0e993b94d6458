import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The journal of counts, and its lines", .inTurn) struct UsageJournalTests {
  private static let isRoot = geteuid() == 0

  private func isAppended(_ bytes: [UInt8]?, to journal: UsageJournal) throws -> Bool {
    if case .done = try journal.append({ bytes }) { return true }
    return false
  }

  private func lines(_ text: String) -> UsageJournalLines { UsageJournalLines(Array(text.utf8), of: 77) }

  // MARK: The file

  @Test func `there is something to store where either file is there`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let journal = UsageJournal(files: files)
    #expect(!journal.isThere)
    #expect(try isAppended([0x0A], to: journal))
    #expect(journal.isThere && FileStatus(path: files.usageJournal)?.mode == 0o600)
    let taken = try #require(journal.take())
    #expect(journal.isThere && !folder.contains("store.sqlite.uses"))
    taken.remove()
    #expect(try !journal.isThere && folder.names() == [])
  }

  @Test func `nothing is appended where there is nothing to say, nor while another process keeps the file`()
    throws
  {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let journal = UsageJournal(files: files)
    #expect(try !isAppended(nil, to: journal))
    #expect(FileStatus(path: files.usageJournal)?.bytes == 0)
    let descriptor = open(files.usageJournal, O_RDONLY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    #expect(try !isAppended([0x0A], to: journal))
    #expect(flock(descriptor, LOCK_UN) == 0)
    #expect(try isAppended([0x0A], to: journal))
    #expect(try folder.bytes(of: "store.sqlite.uses") == [0x0A])
  }

  @Test func `at the last the lines are read even while another process appends`() throws {
    let folder = try TemporaryFolder()
    let journal = UsageJournal(files: StoreFiles(path: folder.file("store.sqlite")))
    #expect(try isAppended([0x61, 0x0A], to: journal))
    _ = try journal.append { () throws(CacheStoreError) in
      #expect(journal.take() == nil)
      #expect(journal.take(isLast: true)?.bytes == [0x61, 0x0A])
      return nil
    }
  }

  @Test func `of a file without measure a mebibyte is read`() throws {
    let folder = try TemporaryFolder()
    let journal = UsageJournal(files: StoreFiles(path: folder.file("store.sqlite")))
    try folder.write([UInt8](repeating: 0x0A, count: 1_200_000), to: "store.sqlite.uses")
    #expect(journal.take()?.bytes.count == 1_048_576)
  }

  @Test func `a copy of the descriptor, as a process has it that is being started, keeps no lock`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let journal = UsageJournal(files: files)
    var copy: Int32 = -1
    _ = try journal.append { () throws(CacheStoreError) in
      let identity = FileStatus(path: files.usageJournal)?.identity
      let own = (0..<4096 as Range<Int32>).first { FileStatus(descriptor: $0)?.identity == identity }
      if let own { copy = dup(own) }
      return [0x0A]
    }
    try #require(copy >= 0)
    defer { close(copy) }
    let other = open(files.usageJournal, O_RDONLY)
    try #require(other >= 0)
    defer { close(other) }
    #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
  }

  @Test(.enabled(if: isRoot, "only the administrator can give files away"))
  func `another user's file is not appended to`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    try folder.write("theirs\n", to: "store.sqlite.uses")
    #expect(chown(files.usageJournal, 65_534, 65_534) == 0)
    #expect(try !isAppended([0x0A], to: UsageJournal(files: files)))
    #expect(try folder.text(of: "store.sqlite.uses") == "theirs\n")
  }

  // MARK: Its lines

  @Test func `each number of a count has its place in the line, and is read from there`() throws {
    var count = UsageCount()
    (count.stored, count.fresh, count.unchanged) = (1, 2, 3)
    (count.failed, count.savedBytes, count.savedMilliseconds) = (4, 5, 6)
    for host in ["a.example", "8080"] {
      var written = UsageJournalLines()
      written.counts = [.init(account: 7, host: host, count: count)]
      let bytes = try #require(written.bytes(of: 77))
      #expect(String(decoding: bytes, as: UTF8.self) == "c 77 7 1 2 3 4 5 6 \(host)\n", "\(host)")
      #expect(UsageJournalLines(bytes, of: 77) == written, "\(host)")
    }
    // Of two accounts of one host each has its own.
    let both = lines("c 77 7 1 2 3 4 5 6 a\nc 77 8 1 2 3 4 5 6 a\nc 77 7 1 2 3 4 5 6 a\n").counts
    var sum = count
    sum += count
    #expect(both == [.init(account: 7, host: "a", count: sum), .init(account: 8, host: "a", count: count)])
  }

  @Test func `of a row's marks the latest counts, and every number from 0 to 2^52 is one`() {
    #expect(lines("m 77 3 9\nm 77 3 5\n").marks == [.init(row: 3, instant: 9)])
    #expect(lines("m 77 3 5\nm 77 3 9\n").marks == [.init(row: 3, instant: 9)])
    #expect(lines("m 77 3 0\n").marks == [.init(row: 3, instant: 0)])
    // Some file systems number their files with all of 64 bits.
    let text = "m \(UInt64.max) 3 9\nc \(UInt64.max) 7 1 2 3 4 5 6 a\n"
    let large = UsageJournalLines(Array(text.utf8), of: .max)
    #expect(large.marks == [.init(row: 3, instant: 9)] && large.counts.map(\.account) == [7])
    #expect(
      lines("m 77 0 4503599627370496\n").marks == [.init(row: 0, instant: 4_503_599_627_370_496)])
    for text in [
      "m 77 3 4503599627370497", "m 77 3 -1", "m 77 3 x", "m 77 3 9 1", "x 77 3 9", "m 78 3 9", "m x 3 9",
      "c 77 7 1 2 3 4 5 6 a b", "c 77 7 1 2 3 4 5 x a", "x 77 7 1 2 3 4 5 6 a",
    ] { #expect(lines(text + "\n").isEmpty, "\(text)") }
  }

  @Test func `a host that would be two words of a line, or none, goes into no line`() {
    for (host, isWritten) in [
      ("a", true), ("!", true), ("~", true), ("ü", true), ("", false), ("a b", false), ("a\n", false),
      ("a\u{1F}", false), ("a\u{7F}", false),
    ] {
      var written = UsageJournalLines()
      written.counts = [.init(account: 1, host: host, count: UsageCount())]
      #expect((written.bytes(of: 77) != nil) == isWritten, "\(host.debugDescription)")
    }
  }
}
