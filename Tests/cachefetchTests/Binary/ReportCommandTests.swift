import CSodium
import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import cachefetch

/// What the page does in a browser is driven by `scripts/check page`.
@Suite("Command: report", .inTurn) struct ReportCommandTests {
  /// The data of a page.
  private struct Data: Decodable {
    struct Row: Decodable {
      var target: String
      var account: String?
      var words: [String]
    }
    struct Part: Decodable {
      var account: String
      var host: String
    }
    struct Body: Decodable {
      var text: String?
      var base64: String?
      var leftOut: String?
      enum CodingKeys: String, CodingKey {
        case text, base64
        case leftOut = "left_out"
      }
    }
    struct Detail: Decodable {
      var fields: [Int]
      var policies: [Int]
      var body: Body
    }
    struct Texts: Decodable { var texts: [String] }

    var chosen: String
    var rows: [Row]
    var parts: [Part]
  }

  /// What stands between two marks of a page, which each occur once.
  private func between(_ start: String, _ end: String, in page: String) throws -> String {
    let parts = page.components(separatedBy: start)
    try #require(parts.count == 2, "\(start) is there \(parts.count - 1) times")
    return try #require(parts[1].components(separatedBy: end).first)
  }

  private func rows(of page: String) throws -> Data {
    let text = try between(#"<script type="application/json" id="rows">"#, "</script>", in: page)
    return try JSONDecoder().decode(Data.self, from: PlatformFoundation.Data(text.utf8))
  }

  private func details(of page: String) throws -> (details: [Data.Detail], texts: [String]) {
    let text = try between(#"<script type="application/json" id="details">"#, "</script>", in: page)
    let lines = text.split(separator: "\n").map { PlatformFoundation.Data($0.utf8) }
    return (
      try lines.dropLast().map { try JSONDecoder().decode(Data.Detail.self, from: $0) },
      try JSONDecoder().decode(Data.Texts.self, from: try #require(lines.last)).texts
    )
  }

  /// The bodies of a page by the ends of their URLs.
  private func bodies(of page: String) throws -> [String: Data.Body] {
    let (rows, details) = (try rows(of: page).rows, try details(of: page).details)
    #expect(rows.count == details.count)
    return Dictionary(
      uniqueKeysWithValues: zip(rows.map { String($0.target.suffix(2)) }, details.map(\.body)))
  }

  private func paths(_ shell: Shell, _ words: String...) async throws -> [String] {
    let run = try await shell.run(["report"] + words)
    #expect(run.status == 0 && run.errorText.isEmpty, "\(run.errorText)")
    return try rows(of: run.outputText).rows.map { String($0.target.suffix(2)) }.sorted()
  }

  @Test func `account, host and tag choose the entries, and the figures are of those`() async throws {
    let (shell, origin) = try await Shell.filled()
    #expect(try await paths(shell) == ["/a", "/b", "/c"])
    #expect(try await paths(shell, "--account", "alice") == ["/a"])
    #expect(try await paths(shell, "--tag", "news") == ["/b"])
    #expect(try await paths(shell, "--host", "127.0.0.1:\(origin.port)") == ["/a", "/b", "/c"])
    let whole = try rows(of: try await shell.run("report").outputText)
    #expect(Set(whole.parts.map(\.account)) == ["", "alice"] && whole.chosen.isEmpty)
    let one = try rows(of: try await shell.run("report", "--tag", "news").outputText)
    #expect(one.parts.map(\.account) == [""] && one.chosen == "--tag news")
    #expect(one.rows.map(\.words) == [["stale"]])
    let none = try await shell.run("report", "--host", "example.com")
    #expect(none.status == 0 && none.errorText == "cachefetch: no stored entry matches\n")
    let nothing = try rows(of: none.outputText)
    #expect(nothing.rows.isEmpty && nothing.parts.isEmpty)
  }

  @Test func `bodies of accounts are in it with --bodies alone`() async throws {
    let (shell, _) = try await Shell.filled()
    let bodies = try bodies(of: try await shell.run("report").outputText)
    #expect(bodies["/a"]?.leftOut?.contains("--bodies") == true && bodies["/a"]?.text == nil)
    #expect(bodies["/b"]?.text == "/b" && bodies["/c"]?.text?.count == 5_000)
    #expect(try self.bodies(of: try await shell.run("report", "--bodies").outputText)["/a"]?.text == "/a")
  }

  @Test func `each entry has its head and what explain says under each policy`() async throws {
    let (shell, origin) = try await Shell.filled()
    let (details, texts) = try details(of: try await shell.run("report", "--tag", "news").outputText)
    let entry = try #require(details.first)
    let fields = entry.fields.map { texts[$0] }
    let place = try #require(fields.firstIndex(of: "Cache-Control"))
    #expect(fields[place + 1] == "max-age=0")
    let policies = entry.policies.map { texts[$0] }
    let explained = try await shell.run("explain", origin.url + "/b").outputText
    let verdicts = try between("\npolicies\n", "\na refresh sends", in: explained).components(
      separatedBy: "\n")
    // The age alone is another, a moment later.
    func withoutAge(_ text: String) -> String {
      let words = text.components(separatedBy: " ").filter { !$0.isEmpty }
      return words.joined(separator: " ").replacing(#/\d+ m?s old/#, with: "old")
    }
    let told = stride(from: 0, to: policies.count, by: 2).map { policies[$0] + " " + policies[$0 + 1] }
    #expect(told.map(withoutAge) == verdicts.map(withoutAge))
  }

  @Test(
    "Nothing in a body ends the element it stands in",
    arguments: [
      "</script><script>alert(1)</script>", "<!--<script>", "]]></SCRIPT >",
      "{script}{details}\u{2028}\u{2029}",
      "\u{0}</style>\u{FEFF}",
    ])
  func hostile(body: String) async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok(body, ["Content-Type": "text/html", "X-Foreign": "</script>"]))
    }
    _ = try await shell.run("-q", origin.url + "/x")
    let page = try await shell.run("report").outputText
    let data =
      try between(#"id="rows">"#, "</script>", in: page) + between(#"id="details">"#, "</script>", in: page)
    #expect(!data.contains("<") && !data.contains("\u{2028}") && !data.contains("\u{0}"))
    #expect(page.components(separatedBy: "</script>").count == 4)
    let found = try #require(try bodies(of: page)["/x"])
    let bytes = found.base64.flatMap { PlatformFoundation.Data(base64Encoded: $0) }.map { Array($0) }
    #expect(found.text ?? bytes.map { String(decoding: $0, as: UTF8.self) } == body)
  }

  @Test func `text that is not UTF-8 and images stand as bytes, what is binary or long not at all`()
    async throws
  {
    let shell = try Shell()
    let replies: [String: (type: String, body: [UInt8])] = [
      "/t": ("text/plain", [0x63, 0xE9, 0xFF]), "/i": ("image/png", [0x89, 0x50]),
      "/b": ("application/octet-stream", [0, 1, 0xFF]),
      "/l": ("text/plain", [UInt8](repeating: 0x6C, count: 65_537)),
      "/e": ("text/plain", []),
    ]
    let origin = try FixtureServer { request, connection in
      let reply = replies[request.path] ?? ("text/plain", [])
      try connection.send(FixtureReply(status: 200, fields: ["Content-Type": reply.type], body: reply.body))
    }
    for path in replies.keys { _ = try await shell.run("-q", "--print", "none", origin.url + path) }
    let bodies = try bodies(of: try await shell.run("report").outputText)
    #expect(
      bodies["/t"]?.base64 == "Y+n/" && bodies["/i"]?.base64 == "iVA=" && bodies["/e"]?.text?.isEmpty == true)
    #expect(
      bodies["/b"]?.leftOut?.contains("binary") == true && bodies["/l"]?.leftOut?.contains("64 KiB") == true)
  }

  @Test func `the policy lets the page's own script and style apply and nothing else`() async throws {
    let (shell, _) = try await Shell.filled()
    let page = try await shell.run("report").outputText
    let policy = try between(#"http-equiv="Content-Security-Policy" content=""#, "\"", in: page)
    func hash(_ text: String) -> String {
      var digest = [UInt8](repeating: 0, count: 32)
      crypto_hash_sha256(&digest, Array(text.utf8), UInt64(text.utf8.count))
      return "'sha256-\(PlatformFoundation.Data(digest).base64EncodedString())'"
    }
    let directives = policy.components(separatedBy: "; ")
    #expect(directives.first == "default-src 'none'")
    #expect(directives.contains("script-src " + hash(try between("<script>", "</script>", in: page))))
    #expect(directives.contains("style-src " + hash(try between("<style>", "</style>", in: page))))
    #expect(directives.contains("form-action 'none'") && directives.contains("base-uri 'none'"))
    #expect(!policy.contains("unsafe") && !policy.contains("http:"))
  }

  @Test func `FILE is replaced as a whole and readable by its owner alone`() async throws {
    let (shell, _) = try await Shell.filled()
    try shell.store.folder.write("before", to: "report.html")
    #expect(chmod(shell.file("report.html"), 0o644) == 0)
    let old = open(shell.file("report.html"), O_RDONLY)
    defer { close(old) }
    let run = try await shell.run("report", "-o", "report.html")
    #expect(
      run.status == 0 && run.output.isEmpty && run.errorText.hasPrefix("wrote 3 entries, "),
      "\(run.errorText)")
    var status = stat()
    #expect(stat(shell.file("report.html"), &status) == 0 && status.st_mode & 0o7777 == 0o600)
    #expect(try rows(of: try shell.store.folder.text(of: "report.html")).rows.count == 3)
    // Whoever had the old one open reads that: its bytes are not written over.
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(read(old, &bytes, bytes.count) == 6)
    #expect(try !shell.store.folder.names().contains { $0.hasSuffix(".part") })
    // One that cannot be written whole leaves the file as it was.
    let cut = try await ChildProcess.run(
      "/bin/sh",
      ["-c", #"ulimit -f 8; trap '' XFSZ; exec "$0" report -o report.html"#, BuiltProduct.cachefetch()],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(cut.status == 74 && cut.errorText.contains("cannot be written"), "\(cut.errorText)")
    #expect(try rows(of: try shell.store.folder.text(of: "report.html")).rows.count == 3)
    #expect(try !shell.store.folder.names().contains { $0.hasSuffix(".part") })
  }

  @Test func `a page is not written over the store, nor over a folder, nor to a terminal`() async throws {
    let (shell, _) = try await Shell.filled()
    let onStore = try await shell.run("report", "-o", shell.store.path)
    #expect(onStore.status == 64 && onStore.errorText.contains("is the store itself"), "\(onStore.errorText)")
    #expect(try await shell.run("report", "-o", ".").status == 74)
    let streams = try WrittenStreams(terminal: .both)
    let arguments = try ArgumentParser.parse(["report", "--store", shell.store.path])
    let error = #expect(throws: UsageError.self) {
      try StoreCommands(arguments, streams.diagnostics).report()
    }
    #expect(error?.status == .usage && error?.remedy.contains("-o FILE") == true)
    #expect(streams.output.text.isEmpty)
  }

  @Test func `an empty store gives a page of nothing, and a missing one that is named none`() async throws {
    let shell = try Shell()
    let missing = try await shell.run("report", "-o", "report.html")
    #expect(missing.status == 74 && missing.errorText.contains("there is no store"), "\(missing.errorText)")
    #expect(try shell.store.folder.names().isEmpty)
    _ = try await shell.run("limits", "--rows", "10")
    let empty = try await shell.run("report", "-o", "report.html")
    #expect(empty.status == 0 && empty.errorText.hasPrefix("cachefetch: nothing is stored\nwrote 0 entries"))
    #expect(try rows(of: try shell.store.folder.text(of: "report.html")).rows.isEmpty)
  }

  @Test func `a copy is only read, and nothing is asked for`() async throws {
    let (shell, origin) = try await Shell.filled()
    _ = try await shell.run("-q", "export", "copy.cfx")
    let (bytes, names) = (try shell.store.folder.bytes(of: "copy.cfx"), try shell.store.folder.names())
    let asked = origin.requests().count
    let run = try await shell.run("report", "--store", "copy.cfx", "-o", "-")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try rows(of: run.outputText).rows.count == 2)
    #expect(try shell.store.folder.bytes(of: "copy.cfx") == bytes)
    #expect(try shell.store.folder.names() == names)
    #expect(origin.requests().count == asked)
  }
}
