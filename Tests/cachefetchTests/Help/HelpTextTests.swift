import Launch
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Help", .inTurn) struct HelpTextTests {
  @Test func `the overview is one screen and names every verb`() {
    let page = HelpText.overview(store: "~/.cache/cachefetch/store.sqlite")
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 25 && lines.last == "", "the last line break is none of its 24 lines")
    #expect(lines.allSatisfy { $0.count <= 80 })
    let words = Set(page.split { !($0.isLetter || $0 == "-") }.map(String.init))
    for verb in Verb.allCases { #expect(words.contains(verb.rawValue), "\(verb)") }
    #expect(page.contains("\nin a script: cachefetch --one URL; 0 fresh, 3 stored, 4 or 22 nothing\n"))
    #expect(page.contains("\nstore: ~/.cache/cachefetch/store.sqlite\n") && page.contains("man cachefetch"))
  }

  @Test func `without a word it is shown too, on standard error, and is bad usage`() async throws {
    var shell = try Shell()
    shell.environment["CACHEFETCH_STORE"] = "s"
    for words in [["help"], ["--help"]] {
      #expect(try await shell.run(words).outputText == HelpText.overview(store: "s"))
    }
    let run = try await shell.run()
    #expect(run.status == 64 && run.output.isEmpty && run.errorText == HelpText.overview(store: "s"))
  }

  @Test(arguments: Verb.allCases) func `the page of a verb has its options and no others`(verb: Verb) {
    let page = HelpText.verb(verb)
    let own = page.split(separator: "\n\nand, from ")[0]
    let shared = Set(page.dropFirst(own.count).split { " ,\n".contains($0) }.map(String.init))
    for option in Option.table where option.name != .newFleetKey {
      let isModelled = HelpText.model(of: option, for: verb) != nil
      let isOwn = own.contains("\(option.usage)\n") || own.contains("\(option.usage) ")
      let isListed =
        isModelled ? shared.contains(option.short.map { "-\($0)" } ?? option.spelling) : isOwn
      #expect(isListed == option.verbs.contains(VerbSet(verb)), "\(option.spelling)")
    }
  }

  @Test func `the page of get has its options in groups, each once and in the order of the table`() {
    var last = -1
    for name in OptionName.allCases {
      let place = OptionGroup.allCases.firstIndex(of: name.group) ?? -1
      #expect(place >= last, "\(name)")
      last = place
    }
    let page = HelpText.verb(.get)
    let headings = OptionGroup.allCases.filter { page.contains("\n\n\($0.rawValue):\n  ") }
    #expect(headings == [.answer, .printed, .request, .identity, .network, .store, .other])
    #expect(OptionName.staleOK.group == .answer && OptionName.tier.group == .store)
    #expect(OptionName.host.group == .selection && OptionName.repair.group == .other)
  }

  @Test func `what get or list explains in the same words is only named by the others`() {
    for (verb, lines) in [
      (Verb.preload, 60), (.watch, 60), (.diff, 60), (.explain, 60), (.show, 60), (.rm, 70),
    ] {
      #expect(HelpText.verb(verb).split(separator: "\n").count < lines, "\(verb)")
    }
    #expect(
      HelpText.verb(.show).contains("\n  network, TLS, proxy   -x, --cacert, -k, --resolve, --unix-socket\n"))
    #expect(HelpText.verb(.rm).contains("\n\nand, from cachefetch help list:\n"))
  }

  @Test func `the page of the tier is short, and says Redis and the key`() async throws {
    let page = try await Shell().run("help", "tier").outputText
    #expect(
      page.split(separator: "\n").count <= 40 && page.split(separator: "\n").allSatisfy { $0.count <= 80 })
    for part in [
      "redis://", "--tier", "--no-tier", "key-file", "doctor --new-fleet-key", "rm --fleet",
      "CACHEFETCH_TIER",
    ] {
      #expect(page.contains(part), "\(part)")
    }
    #expect(!HelpText.verb(.doctor).contains("new-fleet-key"))
  }

  @Test(arguments: Verb.allCases) func `the page of a verb fits the width`(verb: Verb) {
    let literal = verb.examples.map(\.line) + verb.notes.flatMap(\.lines)
    for width in [40, 80, 120] {
      for line in HelpText.verb(verb, width: width).split(separator: "\n") where line.count > width {
        let isLiteral = literal.contains { line.contains($0) } || line.hasPrefix("usage: ")
        let isName =
          Option.table.contains { line == "  " + $0.usage }
        #expect(isLiteral || isName, "\(width): \(line)")
      }
    }
  }

  @Test func `an option that means something else with another verb says so there`() {
    #expect(Option.row(.tag).help(for: .get).hasPrefix("label"))
    for verb in [Verb.list, .rm, .export] {
      #expect(Option.row(.tag).help(for: verb).hasPrefix("only"), "\(verb)")
      #expect(Option.row(.account).help(for: verb).hasPrefix("only"), "\(verb)")
    }
    #expect(!Option.row(.fail).help(for: .preload).contains("body"))
    #expect(Option.row(.fail).help(for: .watch).contains("outage"))
    for option in Option.table {
      for line in Option.texts where line.words[0] == option.name.rawValue {
        let verbs = line.words.dropFirst().map { Verb.named(String($0)).map { VerbSet($0) } }
        #expect(verbs.allSatisfy { $0?.isDisjoint(with: option.verbs) == false }, "\(line.words)")
      }
    }
  }

  @Test func `show says what -i adds to what is stored, and sizes say what their powers are`() {
    #expect(Option.row(.include).help(for: .show).contains("with Age and Cache-Status added"))
    #expect(!HelpText.verb(.show).contains("exactly as"))
    #expect(Manual.text().contains("in powers of 1,024; what is printed is in powers of 1,000."))
  }

  @Test func `examples can be run as they stand`() {
    for verb in Verb.allCases {
      for (line, _) in verb.examples {
        #expect(line.firstMatch(of: /\b[A-Z]{3,}\b/) == nil, "\(line)")
      }
    }
  }

  @Test func `keywords are as they are typed, and defaults say that they are`() {
    let manual = Manual.text()
    for option in Option.table {
      for part in option.helpByVerbs {
        if case .choice(let choices) = option.value {
          // What begins a sentence in the manual is capitalised.
          for choice in choices { #expect(!part.text.hasPrefix(choice), "\(option.spelling)") }
        }
        #expect(part.text.firstMatch(of: /\([0-9]+[a-zA-Z]*\)/) == nil, "\(option.spelling)")
      }
    }
    for verb in ["Diff:", "Doctor:", "Url ", "Both ", "Stored-then"] {
      #expect(!manual.contains(verb), "\(verb)")
    }
    #expect(manual.contains("(default: 5s)"))
  }

  @Test func `help and manual send nobody to what is not installed`() {
    let pages =
      Verb.allCases.map { HelpText.verb($0) } + [
        HelpText.overview(store: ""), HelpText.text(HelpText.tier, width: 80), Manual.text(),
      ]
    for page in pages {
      #expect(
        !page.contains("docs/") && !page.contains(".md") && !page.contains("README"), "\(page.prefix(60))")
    }
  }

  @Test(
    "The exit statuses of a verb are those it can end with",
    arguments: [
      (.get, [0, 3, 4, 22, 64, 74, 130, 143]), (.preload, [0, 3, 4, 22, 64, 65, 74, 130, 143]),
      (.watch, [0, 22, 64, 74, 130, 143]), (.diff, [0, 1, 3, 4, 64, 74, 130, 143]),
      (.explain, [0, 64, 74, 130, 143]), (.doctor, [0, 1, 64, 74, 130, 143]),
      (.import, [0, 4, 64, 65, 74, 130, 143]), (.show, [0, 4, 64, 74, 130, 143]), (.help, [0, 64, 74]),
      (.completions, [0, 64, 74]), (.rm, [0, 1, 64, 74, 130, 143]), (.signOut, [0, 1, 64, 74, 130, 143]),
      (.limits, [0, 64, 74, 130, 143]),
    ] as [(Verb, [Int32])])
  func statuses(verb: Verb, numbers: [Int32]) {
    #expect(HelpText.statuses(of: verb).map(\.status.rawValue) == numbers)
  }

  @Test func `the plan that help shows is one`() throws {
    let json = Verb.preload.notes.flatMap(\.lines).joined(separator: "\n")
    let plan = try PreloadPlan(json: Data(json.utf8))
    #expect(plan.steps.map(\.name) == ["feed", "https://news.example.com/advert"])
    #expect(plan.deadline == .seconds(3) && plan.parallelism == 6)
    #expect(Manual.text().contains("advert"))
  }

  @Test(arguments: ["60", "120"])
  func `help through a pager is as wide as COLUMNS says`(columns: String) async throws {
    var shell = try Shell()
    shell.environment["COLUMNS"] = columns
    let width = try #require(Int(columns))
    #expect(try await shell.run("help", "get").outputText == HelpText.verb(.get, width: width))
    shell.environment["COLUMNS"] = "0"
    #expect(try await shell.run("help", "get").outputText == HelpText.verb(.get, width: 80))
  }

  @Test(
    "A page fits its window",
    arguments: [
      (
        30,
        """
        cachefetch completions: print
        the completion script for a
        shell

        usage: cachefetch completions [options] bash|zsh|fish

        and, from cachefetch help get:
          what is printed
              -q, -S
          the store
              --store
          help
              -h, -V

        examples:
          source <(cachefetch completions bash)
              in this shell, now

        exit status:
            0  success
           64  bad usage
           74  an output could not be
               written

        """
      ),
      (
        70,
        """
        cachefetch completions: print the completion script for a shell

        usage: cachefetch completions [options] bash|zsh|fish

        and, from cachefetch help get:
          what is printed       -q, -S
          the store             --store
          help                  -h, -V

        examples:
          source <(cachefetch completions bash)
              in this shell, now

        exit status:
            0  success
           64  bad usage
           74  an output could not be written

        """
      ),
    ])
  func page(width: Int, text: String) {
    #expect(HelpText.verb(.completions, width: width) == text)
  }

  @Test func `in less than 70 columns an option's text stands below it`() {
    #expect(HelpText.verb(.limits, width: 69).contains("  --rows N\n      maximum number"))
    #expect(
      HelpText.verb(.limits, width: 10).contains("\n      maximum number of\n      entries; none lifts\n"))
    // A paragraph has 20 columns too, and not one more.
    #expect(
      HelpText.verb(.preload, width: 10).hasSuffix(
        "\n  the first of 74, 4,\n  22, 3, 0 that\n  applies to any of\n  them)\n"))
  }

  @Test func `a name that is too long has its text below it, in the same column`() {
    let page = HelpText.verb(.preload)
    let column = String(repeating: " ", count: 32)
    #expect(
      page.contains(
        "      --on-failure ask|retry:N|stored|fail\n\(column)if requests fail: ask, retry:N (try again N\n"))
    // Two spaces are between the longest name that has its text beside it and that.
    #expect(HelpText.verb(.get).contains("      --secret-parameter NAME   this query"))
  }

  @Test func `a page has its usage, its notes and, where it applies, the rule for several URLs`() {
    #expect(
      HelpText.verb(.get).contains("\nusage: cachefetch [get] [options] URL…\n\nwhich answer:\n  -1, --one"))
    #expect(HelpText.verb(.stats).contains("\nusage: cachefetch stats [options]\n"))
    let page = HelpText.verb(.preload)
    #expect(
      page.contains(
        """

        lists and plans:
          One operand may be a file: a list, or a plan, told apart by content; - is
          standard input. A list has one whole URL per line; empty lines and lines that
          begin with # are skipped.
          A plan gives each request headers, an account and tags of its own:
            {"deadline_ms": 3000,
        """))
    #expect(
      page.hasSuffix(
        "\n  (with several URLs the exit status is the first of 74, 4, 22, 3, 0 that\n  applies to any of them)\n"
      ))
    #expect(!HelpText.verb(.watch).contains("with several URLs"))
  }
}

extension Note {
  /// The lines that stand as they are.
  fileprivate var lines: [String] { if case .literal(let lines) = self { lines } else { [] } }
}
