import CacheStore
import DataService
import PlatformFoundation
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: what is said on standard error", .inTurn) struct DiagnosticsTests {
  private func said(
    isQuiet: Bool = false, isVerbose: Bool = false, terminal: Terminal = Terminal(),
    _ work: (Diagnostics) -> Void
  ) throws -> String {
    let streams = try WrittenStreams(isQuiet: isQuiet, isVerbose: isVerbose, terminal: terminal)
    work(streams.diagnostics)
    return streams.errors.text
  }

  private static let line = DeliveryLine(
    url: "http://a.example/x", request: DataService.Request(URL(filePath: "/x")))

  @Test func `a line is one line, and harmless on a terminal`() throws {
    #expect(try said { $0.say("a") } == "cachefetch: a\n")
    #expect(try said { $0.say("a\u{1B}b") } == "cachefetch: a\u{1B}b\n")
    #expect(try said { $0.say("a\nb") } == "cachefetch: a^Jb\n")
    #expect(try said { $0.say("a\rb") } == "cachefetch: a^Mb\n")
    #expect(try said(terminal: .both) { $0.say("a\u{1B}b") } == "cachefetch: a^[b\n")
    #expect(try said(isQuiet: true) { $0.say("a") } == "")
    #expect(try said { $0.say(String(repeating: "a", count: 400)) }.contains("aaa…aaa"))
  }

  @Test func `a trace has its mark, and is for -v alone`() throws {
    for (text, shown) in [("a", "* a\n"), ("> GET", "> GET\n"), ("< HTTP", "< HTTP\n"), ("a\nb", "* a^Jb\n")]
    {
      #expect(try said(isVerbose: true) { $0.trace(text) } == shown, "\(text)")
      #expect(try said { $0.trace(text) } == "", "\(text)")
    }
    #expect(try said(isVerbose: true) { $0.trace("a\u{1B}b") } == "* a\u{1B}b\n")
    #expect(try said(isVerbose: true, terminal: .both) { $0.trace("a\u{1B}b") } == "* a^[b\n")
  }

  @Test func `a heading is for whoever has not said -q, text that was asked for is for everybody`() throws {
    #expect(try said { $0.show("a\n") } == "a\n")
    #expect(try said(isQuiet: true) { $0.show("a\n") } == "")
    #expect(try said(isQuiet: true) { $0.write("a\u{1B}\n") } == "a\u{1B}\n")
    #expect(try said(terminal: .both) { $0.write("a\u{1B}\nb") } == "a^[\nb")
  }

  @Test(arguments: [
    (false, Terminal.both, true), (true, Terminal.both, false), (false, Terminal(isError: true), false),
    (false, Terminal(redraws: true), false),
  ]) func `a bar is for a terminal that redraws`(isQuiet: Bool, terminal: Terminal, hasBar: Bool) {
    #expect(Diagnostics(isQuiet: isQuiet, terminal: terminal).hasRedrawnLine == hasBar)
  }

  @Test func `a failure names its URL, unless its message does`() throws {
    let error = DataServiceError(.offline, "no network", hint: "wait")
    #expect(try said { $0.say(error, of: Self.line) } == "cachefetch: http://a.example/x: no network; wait\n")
    let none = DataServiceError(.notStored, "nothing is stored for X")
    #expect(try said { $0.say(none, of: Self.line) } == "cachefetch: nothing is stored for X\n")
  }

  @Test func `one cause is one line`() throws {
    func said(_ warning: Remedy?, _ failure: Remedy?, _ message: String = "b") throws -> Int {
      try self.said {
        $0.warn(DataService.Warning(kind: .offline, message: "a", remedy: warning))
        $0.say(DataServiceError(.offline, message, remedy: failure), of: Self.line)
      }.split(separator: "\n").count
    }
    #expect(try said(.repair, .repair) == 2)
    #expect(try said(.repair, .repair, "a") == 1)
    #expect(try said(.descriptors, .descriptors) == 1)
    #expect(try said(.descriptors, .repair) == 2)
    #expect(try said(.repair, .descriptors) == 2)
  }

  @Test func `a warning says what to do about it`() throws {
    let warning = DataService.Warning(kind: .offline, message: "the store is damaged", remedy: .repair)
    #expect(
      try said { $0.warn(warning) } == "cachefetch: the store is damaged; run “cachefetch doctor --repair”\n")
  }

  @Test func `an output that cannot be written is named`() throws {
    let full = "cannot be written: no space left on the disk\n"
    #expect(try said { $0.say(OutputError.failed(28, path: nil)) } == "cachefetch: standard output \(full)")
    #expect(try said { $0.say(OutputError.failed(28, path: "f")) } == "cachefetch: “f” \(full)")
    #expect(
      try said { $0.say(OutputError.failed(24, path: "f")) }
        == "cachefetch: “f” cannot be written: too many open files; raise the limit (ulimit -n)\n")
    for other in [OutputError.closed, .interrupted] { #expect(try said { $0.say(other) } == "") }
  }

  @Test func `bad usage is one harmless line`() throws {
    let errors = try WrittenText()
    Diagnostics.fail(UsageError("a\u{1B}", "b"), status: RedrawnLine(on: errors.output))
    #expect(errors.text == "cachefetch: a^[; b\n")
  }
}
