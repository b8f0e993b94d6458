import FixtureServer
import TestSupport
import Testing
import TestTurns

@Suite("Command: a copy that is damaged, or none", .inTurn) struct DamagedCopyTests {
  /// Bytes of a page of a store.
  private static let pageBytes = 8_192
  /// The first byte of a page with rows of a table.
  private static let leaf: UInt8 = 0x0D

  /// A store with forty rows, and an exported copy of it.
  private func exported() async throws -> (shell: Shell, copy: [UInt8], url: String) {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok(String(repeating: request.path, count: 40)))
    }
    let list = (1...40).map { "\(origin.url)/\($0)\n" }.joined()
    #expect(try await shell.run("preload", "-q", "-", input: Array(list.utf8)).status == 0)
    #expect(try await shell.run("export", "whole.cfx").status == 0)
    return (shell, try shell.store.folder.bytes(of: "whole.cfx"), origin.url + "/1")
  }

  @Test func `rows that a damaged page has lost are missed: nothing of it is imported or listed`()
    async throws
  {
    let (shell, whole, url) = try await exported()
    let leaves = stride(from: Self.pageBytes, to: whole.count, by: Self.pageBytes).filter {
      whole[$0] == Self.leaf
    }
    // Pages of the rows and of their bodies.
    #expect(leaves.count >= 4)
    let other = try Shell()
    for start in leaves {
      // No cells, says the page.
      var damaged = whole
      (damaged[start + 3], damaged[start + 4]) = (0, 0)
      guard damaged != whole else { continue }
      try shell.store.folder.write(damaged, to: "damaged.cfx")
      let taken = try await other.run("import", shell.file("damaged.cfx"))
      #expect(taken.status == 65 && taken.output.isEmpty, "page at \(start): \(taken.errorText)")
      #expect(taken.errorText.contains("damaged.cfx”: it is damaged; get it anew"), "\(taken.errorText)")
      for words in [["list"], ["list", "--json"], ["stats"], ["explain", url], ["export", "again.cfx"]] {
        let run = try await shell.run(words + ["--store", "damaged.cfx"])
        #expect(run.status == 74 && run.output.isEmpty, "\(words), page at \(start): \(run.outputText)")
        #expect(run.errorText.contains("the store damaged.cfx is damaged"), "\(words): \(run.errorText)")
      }
      #expect(try shell.store.folder.bytes(of: "damaged.cfx") == damaged)
    }
    #expect(try await other.run("list").output.isEmpty)
    #expect(
      try await other.run("import", shell.file("whole.cfx")).errorText == "imported 40 stored responses\n")
  }

  @Test(arguments: [["show"], ["--offline"]])
  func `of a copy with a damaged response show says so, and leaves it as it is`(verb: [String]) async throws {
    let (shell, whole, url) = try await exported()
    let content = Array(String(repeating: "/1", count: 40).utf8)
    let place = try #require(whole.firstRange(of: content)).lowerBound
    var damaged = whole
    damaged[place] ^= 1
    try shell.store.folder.write(damaged, to: "damaged.cfx")
    let run = try await shell.run(verb + ["--store", "damaged.cfx", url])
    #expect(run.status == 74 && run.output.isEmpty, "\(run.errorText)")
    #expect(
      run.errorText.contains("does not match its checksum; the store is only read")
        && run.errorText.split(separator: "\n").count == 1,
      "\(run.errorText)")
    #expect(try await shell.run(verb + ["--store", "damaged.cfx", url + "1"]).status == 0)
    #expect(try shell.store.folder.bytes(of: "damaged.cfx") == damaged)
  }

  @Test("A file that is no store is not taken for an empty one", arguments: [[], [0x58]] as [[UInt8]])
  func noStore(content: [UInt8]) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    try shell.store.folder.write(content, to: "none")
    for words in [["list"], ["stats"], ["explain", origin.url], ["export", "again.cfx"]] {
      let run = try await shell.run(words + ["--store", "none"])
      #expect(run.status == 74 && run.output.isEmpty, "\(words): \(run.outputText)")
      #expect(run.errorText.contains("none is not a store of cachefetch"), "\(words): \(run.errorText)")
    }
    let taken = try await shell.run("import", "none")
    #expect(
      taken.status == 65 && taken.errorText.contains("it is not an exported file"), "\(taken.errorText)")
    #expect(try shell.store.folder.bytes(of: "none") == content)
  }

  @Test func `a file of one byte is left alone by who would store something in it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    try shell.store.folder.write("x", to: "none")
    let run = try await shell.run("--store", "none", origin.url)
    #expect(
      run.outputText == "one" && run.errorText.contains("is not a store of cachefetch"), "\(run.errorText)")
    #expect(try shell.store.folder.text(of: "none") == "x")
  }
}
