import TestSupport
import Testing

@testable import cachefetch

@Suite("Help and manual") struct HelpTests {
  @Test func `the overview is one screen and names every verb`() {
    let lines = HelpText.overview().split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 45)
    #expect(lines.allSatisfy { $0.count <= 115 })
    for verb in Verb.allCases { #expect(lines.contains { $0.hasPrefix("  \(verb.rawValue) ") }) }
  }

  @Test(arguments: Verb.allCases) func `the page of a verb has its options and no others`(verb: Verb) {
    let page = HelpText.verb(verb)
    for option in Option.table {
      let isListed = page.split(separator: "\n").contains { $0.contains(option.usage) }
      #expect(isListed == option.verbs.contains(VerbSet(verb)), "\(option.spelling)")
    }
  }

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
      #expect(text.contains(".It Cm \(name)"))
    }
    for option in Option.table {
      let name = option.name.rawValue.split(separator: "-").joined(separator: "\\-")
      #expect(text.contains("Fl -\(name)"))
    }
    for status in Status.allCases { #expect(text.contains(".It \(status.rawValue)\n")) }
  }
}
