import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("The manual page", .inTurn) struct ManualTests {
  @Test func `the manual passes mandoc's lint`() async throws {
    let folder = try TemporaryFolder()
    let page = try folder.write(Manual.text(), to: "cachefetch.1")
    let lint = try await ChildProcess.run("/usr/bin/mandoc", ["-T", "lint", page])
    #expect(lint.outputText == "")
    #expect(lint.exit == .status(0))
  }

  @Test func `the manual has every verb, option and exit status`() {
    let text = Manual.text()
    for verb in Verb.allCases {
      let name = verb.rawValue.split(separator: "-").joined(separator: "\\-")
      #expect(text.contains(".It Cm \(name)"), "\(verb)")
    }
    for option in Option.table {
      let name = option.name.rawValue.split(separator: "-").joined(separator: "\\-")
      #expect(text.contains("Fl -\(name)"))
    }
    // What ends by a signal has no status of its own.
    for status in Status.allCases where status != .brokenPipe {
      #expect(text.contains(".It \(status.rawValue)\n"), "\(status)")
    }
  }

  /// Lines that sentences are broken into.
  private var sentences: [String] {
    var isLiteral = false
    return Manual.text().split(separator: "\n").map(String.init).filter { line in
      if line.hasPrefix(".Bd") { isLiteral = true }
      if line.hasPrefix(".Ed") { isLiteral = false }
      return !isLiteral && !line.hasPrefix(".")
    }
  }

  @Test func `lines have at most 78 columns, and are broken where a word has no room`() throws {
    #expect(sentences.allSatisfy { $0.count <= 78 })
    #expect(sentences.contains { $0.count == 78 })
    let text = Manual.text()
    let plan = try #require(text.firstRange(of: "\nOnly steps and the url of each must be there.\n"))
    #expect(
      text[plan.upperBound...].hasPrefix(
        """
        deadline_ms, max_age_ms and parallel are what \\-\\-deadline, \\-\\-max\\-age and
        \\-\\-parallel say, which win over them; what a step leaves open is as the
        options say.

        """))
  }

  @Test func `a word without room anywhere has a line of its own`() {
    let long = String(repeating: "X", count: 80)
    #expect(Manual.sentence(long) == "\(long).\n")
    #expect(Manual.sentence("see \(long) there") == "See\n\(long)\nthere.\n")
  }

  @Test func `a sentence begins with a capital, the name of a key as it is typed`() {
    for (text, sentence) in [
      ("a word", "A word."), ("ends itself.", "Ends itself."), ("with these:", "With these:"),
      ("key:KEY is a key", "key:KEY is a key."), ("max_age_ms, if any", "max_age_ms, if any."),
      ("readiness, weight and critical", "readiness, weight and critical."),
      ("a key: it has a colon", "A key: it has a colon."),
    ] {
      #expect(Manual.sentence(text) == sentence + "\n", "\(text)")
    }
  }

  @Test func `each part is as mdoc has it`() {
    let text = Manual.text()
    for part in [
      ".It Cm get Ar URL...\nPrint the stored response, then the fresh one (the default verb).\n",
      ".It Cm list\nList stored responses.\n", ".It Cm preload Ar PLAN \\&| LIST \\&| URL... \\&| \\-\n",
      ".It Fl q , Fl -quiet\nSuppress progress and all messages except usage errors; \\-s is the same.\nWith: every verb.\n",
      ".Sh OPTIONS\n.Ss which answer\n.Bl -tag -width Ds\n.It Fl 1 , Fl -one\n",
      ".El\n.Ss network, TLS, proxy\n.Bl -tag -width Ds\n",
      ".Sh POLICIES\n.Bl -tag -width Ds\n.It stored\\-then\\-fresh\nThe stored response at once, then the fresh one (default).\n",
      ".It kept, kept_reason\nWhether the response is stored now, and if not, why.\n",
      "The kinds are offline, dns, refused,",
      ".It printed\nWhich body was printed: stored, fresh, both or none.\n",
      ".It store.sqlite\\-wal, store.sqlite\\-shm\n", ".It store.sqlite.reserve\n", ".It CACHEFETCH_STORE\n",
      ".Sh SHARING RESPONSES THROUGH REDIS\n",
      ".It Fl -json\nPrint JSON Lines: one object per delivery.\nWith: get.\n.Pp\nPrint JSON Lines: one object per request.\n",
      "With: rm, sign\\-out.\n", ".It Fl H , Fl -header Ar \\(aqN: V\\(aq\\&|@FILE\n",
      ".Sh LISTS AND PLANS\nOne operand may be",
      "skipped.\n.Pp\nA plan gives each request headers, an account and tags of its own:\n.Bd -literal -offset indent\n{\\(dqdeadline_ms\\(dq: 3000,",
      "advert\\(dq}]}\n.Ed\n.Pp\nOnly steps", ".Sh COLUMNS OF LIST\nOn a terminal: when the entry",
      ".It 0\nA fresh response of any status was delivered, or a stored one if no more was\nwanted.\nWith: get.\n.Pp\nEvery",
      ".It 64\nBad usage.\nWith: every verb.\n",
      ".It cachefetch https://example.com/news.json\nThe stored response at once, then the fresh one.\n",
      "https://example.com/news.json \\&| jq \\&.\n",
      ".El\n.Pp\nWith several URLs the exit status is the first of 74, 4, 22, 3, 0",
    ] {
      #expect(text.contains(part), "\(part)")
    }
  }
}
