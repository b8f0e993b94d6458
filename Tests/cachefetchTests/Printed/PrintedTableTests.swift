import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

/// Every policy with every `--print`, every form of output and every state, against docs/command.md, "What is
/// printed".
///
/// A sample in the suite; all of them with `CACHEFETCH_PRINTED=all`, as `scripts/check printed` does.
@Suite("The table of what is printed", .inTurn) struct PrintedTableTests {
  private struct Object: Decodable {
    var delivery: String
    var status: Int?
    var body: String?
  }

  /// How many runs there are at a time.
  private static let width = 8
  /// Shares no factor with the number of forms, prints, policies and states.
  private static let stride = 31

  @Test func `what comes out is what the page says`() async throws {
    let world = try await PrintedWorld()
    let isWhole = Environment.value("CACHEFETCH_PRINTED") == "all"
    let cases = PrintedCase.all.enumerated().filter { isWhole || $0.offset % Self.stride == 0 }
    var (different, next): ([String], Int) = ([], 0)
    try await withThrowingTaskGroup(of: [String].self) { group in
      func add() {
        guard next < cases.count else { return }
        let (number, asked) = cases[next]
        next += 1
        group.addTask { try await Self.differences(asked, number, world) }
      }
      for _ in 0..<Self.width { add() }
      while let found = try await group.next() {
        different += found
        add()
      }
    }
    #expect(next == cases.count && next > 140)
    #expect(
      different.isEmpty,
      "\(different.count) of \(next): \(different.sorted().prefix(60).joined(separator: "\n"))")
  }

  @Test func `there are twenty-one states and thousands of combinations`() {
    #expect(Set(PrintedCase.states.map(\.path)).count == 21)
    #expect(PrintedCase.all.count == 21 * 6 * 7 * 6)
  }

  private static func differences(
    _ asked: PrintedCase, _ number: Int, _ world: PrintedWorld
  ) async throws -> [String] {
    let expected = PrintedModel.expectation(of: asked, url: world.url(asked.state))
    let outcome = try await world.run(asked, number: number)
    var different: [String] = []
    func compare(_ what: String, _ found: String, _ wanted: String) {
      if found != wanted { different.append("\(asked): \(what) is \(found), not \(wanted)") }
    }
    compare("the exit status", "\(outcome.finished.status)", "\(expected.status)")
    if !expected.exchanges.contains(outcome.exchanges) {
      compare("the number of requests", "\(outcome.exchanges)", "\(expected.exchanges)")
    }
    compare("the file", "“\(outcome.file)”", "“\(expected.file)”")
    if asked.form == .terminal {
      let lines = screen(outcome.finished.outputText)
      compare("the screen", "\(lines)", described(expected.screen, lines))
    } else {
      compare("standard output", "“\(try output(outcome.finished, asked.form))”", "“\(expected.output)”")
      let lines = outcome.finished.errorText.split(separator: "\n").map(String.init)
      compare("standard error", "\(lines)", described(expected.errors, lines))
    }
    return different
  }

  /// The lines themselves where they match.
  private static func described(_ expected: [PrintedModel.Line], _ lines: [String]) -> String {
    let isMatch = expected.count == lines.count && zip(expected, lines).allSatisfy { $0.matches($1) }
    return isMatch ? "\(lines)" : "\(expected)"
  }

  /// The lines of a terminal; what a failure's line goes on with belongs to it.
  private static func screen(_ text: String) -> [String] {
    var lines: [String] = []
    for line in text.replacing("\r\n", with: "\n").split(separator: "\n") {
      if line.hasPrefix("         "), let last = lines.popLast() {
        lines.append(last + " " + line.drop { $0 == " " })
      } else {
        lines.append(String(line))
      }
    }
    return lines
  }

  private static func output(_ finished: ChildProcess.Finished, _ form: PrintedCase.Form) throws -> String {
    switch form {
    case .json:
      try finished.lines.map { line in
        let object = try JSONDecoder().decode(Object.self, from: Data(line.utf8))
        guard object.delivery != "failure" else { return "failure\n" }
        return "\(object.delivery) \(object.status ?? 0) \(object.body ?? "no body")\n"
      }.joined()
    case .include: heads(finished.output)
    case .pipe, .file, .fail, .terminal: finished.outputText
    }
  }

  /// Each head as `<200>`, a stored one as `<200 stored>`.
  private static func heads(_ bytes: [UInt8]) -> String {
    var text = String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\u{1}")
    while let begin = text.firstRange(of: "HTTP/1.1 "),
      let end = text[begin.lowerBound...].firstRange(of: "\u{1}\u{1}")
    {
      let head = text[begin.upperBound..<end.lowerBound]
      let mark = "<\(head.prefix(3))\(head.contains("Cache-Status: ") ? " stored" : "")>"
      text.replaceSubrange(begin.lowerBound..<end.upperBound, with: mark)
    }
    return text
  }
}
