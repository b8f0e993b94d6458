import CacheStore
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: import of what no exchange could have brought", .inTurn) struct HostileBundleTests {
  struct Hostile: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// What the message says of it.
    let words: String
    let change: @Sendable (inout ResponseStore.Write) -> Void

    init(_ name: String, _ words: String, _ change: @escaping @Sendable (inout ResponseStore.Write) -> Void) {
      (testDescription, self.words, self.change) = (name, words, change)
    }
  }

  static let hostile: [Hostile] = [
    Hostile("a method of two lines", "a method that is none", { $0.key.method = "GET\r\nX: y" }),
    Hostile("an empty method", "a method that is none", { $0.key.method = "" }),
    Hostile("a target of two lines", "a URL that is none", { $0.key.target = "https://a.test/\r\nX: y" }),
    Hostile("a target that is a file", "a URL that is none", { $0.key.target = "file:///etc/passwd" }),
    Hostile("a URL with a NUL", "a URL that is none", { $0.head.url = "https://a.test/\0" }),
    Hostile("a reason of two lines", "a status line that is none", { $0.head.reason = "OK\r\nX: y" }),
    Hostile("a version of two lines", "a status line that is none", { $0.head.version = "1.1\nX" }),
    Hostile(
      "fields apart by a line feed alone", "header fields that are none",
      { $0.head.fields = HTTPFields(wire: Array("A: b\nC: d\r\n".utf8)) }),
    Hostile(
      "a field with a NUL", "header fields that are none",
      { $0.head.fields = HTTPFields(wire: Array("A: b\0\r\n".utf8)) }),
    Hostile(
      "a name of two words", "header fields that are none",
      { $0.head.fields = HTTPFields(wire: Array("A b: c\r\n".utf8)) }),
    Hostile(
      "fields that do not end", "header fields that are none",
      { $0.head.fields = HTTPFields(wire: Array("A: b".utf8)) }),
    Hostile("a status of five digits", "is damaged", { $0.head.status = 99_999 }),
    Hostile("a status below 0", "is damaged", { $0.head.status = -1 }),
    Hostile("an escape in a tag", "control characters", { $0.marks.tags = ["a\u{1B}[2J"] }),
    Hostile("a carriage return in a variant", "control characters", { $0.variant = "a: b\r" }),
    Hostile("a bell in Vary", "control characters", { $0.vary = "a\u{7}" }),
    Hostile("a line feed in what else tells keys apart", "control characters", { $0.key.extra = "a\n" }),
  ]

  @Test("A row that no exchange could have brought is refused, and with it the file", arguments: hostile)
  func refusedRow(hostile: Hostile) async throws {
    let shell = try Shell()
    try await Self.fill(shell.file("evil.cfx"), hostile.change)
    let run = try await shell.run("import", "evil.cfx")
    #expect(run.status == 65 && run.errorText.contains(hostile.words), "\(run.errorText)")
    #expect(!run.errorText.contains("\u{1B}") && run.errorText.split(separator: "\n").count == 1)
    #expect(run.errorText.contains("; get it anew"), "\(run.errorText)")
    #expect(try await shell.run("list").output.isEmpty)
  }

  @Test(
    "Rows of any numbers are listed, explained, shown, counted and served",
    arguments: [Int64.min, .min + 1, -1, .max])
  func extremeRow(value: Int64) async throws {
    let shell = try Shell()
    try await Self.fill(shell.file("odd.cfx")) { write in
      (write.head.requestedAt, write.head.receivedAt, write.changedAt) = (value, value, value)
      write.head.exchangeMilliseconds = value
    }
    #expect(try await shell.run("import", "odd.cfx").status == 0)
    try shell.store.execute("UPDATE last_use SET used_at_ms = \(value)")
    let url = "https://a.test/1"
    for words in [
      ["list"], ["list", "--json"], ["list", "--sort", "used"], ["list", "--stale"], ["explain", url],
      ["explain", "--json", url], ["show", "-i", url], ["stats"],
      ["stats", "--json"], ["doctor"], ["--offline", "--json", url],
      ["--max-age", "1h", "-m", "100ms", "--retry", "0", "--unix-socket", "/nowhere", url],
      ["--policy", "http", "-H", "Cache-Control: only-if-cached", url], ["export", "again.cfx"],
      ["rm", "--older-than", "1d", "--yes"],
    ] {
      for store in [[], ["--store", "odd.cfx"]]
      where store.isEmpty || !["rm", "export", "doctor"].contains(words[0]) {
        let run = try await shell.run(words: words + store, input: [])
        #expect([0, 1, 3, 4].contains(run.status), "\(words) \(store): \(run.exit) \(run.errorText)")
      }
    }
  }

  @Test(
    "A file whose tables run something is refused, and no folder is filled",
    arguments: ["tag", "account", "chunk", "last_use", "usage"])
  func views(table: String) async throws {
    var shell = try Shell()
    let temporary = shell.file("tmp")
    #expect(mkdir(temporary, 0o700) == 0)
    shell.environment["TMPDIR"] = temporary
    shell.environment["SQLITE_TMPDIR"] = temporary
    try await Self.fill(shell.file("evil.cfx")) { _ in }
    let database = try RawDatabase(shell.file("evil.cfx"))
    let columns = try database.rows("SELECT name FROM pragma_table_info('\(table)')").compactMap {
      $0.first?.text
    }
    try database.execute(
      """
      PRAGMA foreign_keys = OFF; DROP TABLE \(table);
      CREATE VIEW \(table) AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
      SELECT \(columns.map { "i AS \($0)" }.joined(separator: ", ")) FROM n
      """)
    let imported = try await shell.run("import", "evil.cfx")
    #expect(imported.status == 65 && imported.errorText.contains("(\(table))"), "\(imported.errorText)")
    let names = try shell.store.folder.names()
    for words in [
      ["list"], ["show", "https://a.test/1"], ["explain", "https://a.test/1"], ["stats"],
      ["--offline", "https://a.test/1"],
    ] {
      let run = try await shell.run(words: words + ["--store", "evil.cfx"], input: [])
      #expect(
        run.status == 74 && run.errorText.contains("is not a store as this release makes them"),
        "\(words): \(run.status) \(run.errorText)")
    }
    #expect(try shell.store.folder.names() == names)
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
  }

  @Test func `a body in a thousand crumbs is refused`() async throws {
    let shell = try Shell()
    var configuration = StoreConfiguration.unhurried(path: shell.file("crumbs.cfx"))
    configuration.chunkBytes = 1
    try await Self.fill(configuration) { $0.body = .bytes(Data(repeating: 0x61, count: 1_000)) }
    let run = try await shell.run("import", "crumbs.cfx")
    #expect(run.status == 65 && run.errorText.contains("damaged"), "\(run.errorText)")
  }

  /// Makes a bundle of one row.
  private static func fill(_ path: String, _ change: (inout ResponseStore.Write) -> Void) async throws {
    try await fill(.unhurried(path: path), change)
  }

  private static func fill(_ configuration: StoreConfiguration, _ change: (inout ResponseStore.Write) -> Void)
    async throws
  {
    let store = ResponseStore(configuration: configuration)
    var write = ResponseStore.Write(
      accountID: try await store.accountID(named: ""),
      key: RequestKey(account: "", target: "https://a.test/1", method: "GET", extra: ""),
      started: StartMark(boot: "b", nanoseconds: 1), status: 200, fields: ["Cache-Control": "max-age=60"],
      receivedAt: 1_700_000_000_000, body: .bytes(Data("body".utf8)))
    change(&write)
    _ = try await store.overwrite(write)
    try await store.convertToSingleFile()
    await store.close()
    unlink(configuration.path + ".lock")
  }
}
