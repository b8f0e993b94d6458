import DataService
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: deliveries", .inTurn) struct DeliveryPrinterTests {
  private typealias Form = DeliveryPrinter.Form

  private static let line = DeliveryLine(
    url: "http://a.example/x", request: DataService.Request(URL(filePath: "/x")))

  /// What `work` writes to both streams.
  private func written(
    _ form: Form, terminal: Terminal = Terminal(), isQuiet: Bool = false,
    _ work: (inout DeliveryPrinter) throws -> Void
  ) throws -> (output: String, errors: String) {
    let streams = try WrittenStreams(isQuiet: isQuiet, terminal: terminal)
    var printer = DeliveryPrinter(form, diagnostics: streams.diagnostics, output: streams.output.output)
    try work(&printer)
    return (streams.output.text, streams.errors.text)
  }

  private func form(_ words: String...) throws -> Form {
    try Form(try ArgumentParser.parse(words + ["http://a/"]))
  }

  private func fresh(
    _ body: String = "abc", status: Int = 200, _ change: DataService.Change = .changed
  ) -> (DeliveryPrinter.Delivery, DeliveryPrinter.Response) {
    let response = Sample.response(Array(body.utf8)) { $0.status = status }
    return (.fresh(response, change), response)
  }

  @Test func `each option sets what it names, and no other`() throws {
    let plain = try form()
    #expect(!plain.isJSON && !plain.includesHead && !plain.isHeadOnly && !plain.failsOnStatus)
    #expect(!plain.hidesFailedBody && plain.file == nil && !plain.insistsOnBytes && !plain.namesURLs)
    #expect(try form("--json").isJSON)
    let include = try form("-i")
    #expect(include.includesHead && !include.isHeadOnly)
    let head = try form("-I")
    #expect(head.includesHead && head.isHeadOnly)
    let fail = try form("-f")
    #expect(fail.failsOnStatus && fail.hidesFailedBody)
    let withBody = try form("--fail-with-body")
    #expect(withBody.failsOnStatus && !withBody.hidesFailedBody)
    let insists = try form("-o", "-")
    #expect(insists.insistsOnBytes && insists.file == nil)
    let folder = try TemporaryFolder()
    let file = try form("-o", folder.file("out"))
    #expect(!file.insistsOnBytes && file.file?.name == folder.file("out"))
    #expect(try form("http://b/").namesURLs)
    for words in [["--json", "-i"], ["-f", "--fail-with-body"]] {
      #expect(throws: UsageError.self, "\(words)") {
        try Form(try ArgumentParser.parse(words + ["http://a/"]))
      }
    }
    #expect(try form("--json", "-I").isHeadOnly)
  }

  @Test func `a body, a head or both are printed, as the options say`() throws {
    func text(_ form: Form) throws -> String {
      let (delivery, response) = fresh()
      return try written(form) { try $0.show(delivery, response, as: Self.line) }.output
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    #expect(try text(form()) == "abc")
    #expect(try text(form("-i")) == head + "abc")
    #expect(try text(form("-I")) == head)
    let stored = Sample.response(Array("abc".utf8), isStored: true)
    let run = try written(form("-i")) { try $0.show(.stored(stored), stored, as: Self.line) }
    #expect(run.output.contains("\r\nAge: 5\r\n") && run.errors.isEmpty)
  }

  @Test func `how much of a body was written is told where one was`() throws {
    let (delivery, response) = fresh()
    for (words, expected) in [([], 3), (["-I"], nil), (["--json"], 3)] as [([String], Int64?)] {
      let form = try Form(try ArgumentParser.parse(words + ["http://a/"]))
      _ = try written(form) {
        let count = try $0.show(delivery, response, as: Self.line)
        #expect(count == expected, "\(words)")
      }
    }
  }

  @Test(arguments: [(399, "abc"), (400, "")]) func `-f hides the body of an error`(status: Int, body: String)
    throws
  {
    let (delivery, response) = fresh(status: status)
    let run = try written(form("-f")) {
      #expect($0.withholds(response) == body.isEmpty && !$0.leavesFile(response))
      try $0.show(delivery, response, as: Self.line)
    }
    #expect(run.output == body)
    let shown = try written(form("--fail-with-body")) {
      #expect(!$0.withholds(response))
      try $0.show(delivery, response, as: Self.line)
    }
    #expect(shown.output == "abc")
  }

  @Test func `a JSON object has the body, unless it is elsewhere or not wanted`() throws {
    func text(_ words: String..., status: Int = 200) throws -> String {
      let (delivery, response) = fresh(status: status)
      let form = try Form(try ArgumentParser.parse(["--json"] + words + ["http://a/"]))
      return try written(form, terminal: Terminal(isOutput: true)) {
        try $0.show(delivery, response, as: Self.line)
      }.output
    }
    #expect(try text().contains(#""body":"abc","body_bytes":3"#))
    #expect(try !text("-I").contains("body"))
    #expect(try text("-f", status: 400).contains(#""body_omitted":true,"body_bytes":3"#))
    let folder = try TemporaryFolder()
    let path = folder.file("out")
    #expect(try text("-o", path).contains(#""body_omitted":true,"body_bytes":3"#))
    #expect(try folder.text(of: "out") == "abc")
    // What the file does not take stands in the object.
    #expect(try text("-o", path, status: 400).contains(#""body":"abc""#))
    #expect(try folder.text(of: "out") == "abc")
  }

  @Test func `an unchanged response is written to the file once`() throws {
    let folder = try TemporaryFolder()
    for (words, isAgain) in [(["-o", folder.file("out")], false), (["-I", "-o", folder.file("out")], true)] {
      let form = try Form(try ArgumentParser.parse(words + ["http://a/"]))
      let run = try written(form) { printer in
        let (first, response) = fresh("abc", .unchanged)
        try printer.show(first, response, as: Self.line)
        #expect(folder.contains("out"), "\(words)")
        try FileManager.default.removeItem(atPath: folder.file("out"))
        try printer.show(first, response, as: Self.line)
        #expect(folder.contains("out") == isAgain, "\(words)")
        let (changed, other) = fresh("abcd", .changed)
        try printer.show(changed, other, as: Self.line)
        #expect(
          try folder.text(of: "out")
            == (isAgain ? "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" : "abcd"), "\(words)")
      }
      #expect(run.output.isEmpty, "\(words)")
      try FileManager.default.removeItem(atPath: folder.file("out"))
    }
  }

  @Test func `a terminal has a heading, with the URL where there are several`() throws {
    let (delivery, response) = fresh()
    func errors(_ form: Form, _ terminal: Terminal, isQuiet: Bool = false) throws -> String {
      try written(form, terminal: terminal, isQuiet: isQuiet) {
        try $0.show(delivery, response, as: Self.line)
      }.errors
    }
    let heading = "fresh    200 OK · in 120 ms · 3 B · changed"
    #expect(try errors(form(), .both) == heading + "\n")
    #expect(try errors(form("http://b/"), .both) == heading + " · http://a.example/x\n")
    #expect(try errors(form(), .coloured).hasPrefix("\u{1B}[1;32mfresh"))
    #expect(try errors(form(), .both, isQuiet: true).isEmpty)
    #expect(try errors(form(), Terminal(isOutput: true)).isEmpty)
  }

  @Test func `bytes that are insisted on reach a terminal as they are`() throws {
    let response = Sample.response([0x1B, 0])
    func output(_ words: String..., errors: Bool = false) throws -> [UInt8] {
      let streams = try WrittenStreams(terminal: .both)
      let form = try Form(try ArgumentParser.parse(words + ["http://a/"]))
      var printer = DeliveryPrinter(form, diagnostics: streams.diagnostics, output: streams.output.output)
      try printer.show(.fresh(response, .new), response, as: Self.line)
      return streams.output.bytes
    }
    #expect(try output("-o", "-") == [0x1B, 0])
    #expect(try output() == [])
  }

  @Test func `a failure is a heading on a terminal, and a line elsewhere`() throws {
    let error = DataServiceError(.offline, "there is no network")
    let delivery = DeliveryPrinter.Delivery.failure(error, lastKnown: nil)
    func run(_ terminal: Terminal) throws -> (output: String, errors: String) {
      try written(form(), terminal: terminal) {
        $0.say(error, delivery, as: Self.line)
        try $0.showFailure(delivery, as: Self.line)
      }
    }
    #expect(try run(.both).errors == "failure  there is no network\n")
    let piped = try run(Terminal(isOutput: true))
    #expect(piped.errors == "cachefetch: http://a.example/x: there is no network\n")
    #expect(piped.output.hasPrefix(#"{"delivery":"failure""#))
  }

  @Test func `heads and text alone are written`() throws {
    let run = try written(form()) {
      try $0.showText(Array("a".utf8))
      try $0.showHead(Array("B".utf8))
    }
    #expect(run.output == "a\nB")
  }

  @Test func `an output that takes no more is an error, whatever is shown`() throws {
    let file = try FileWithRoom(for: 0)
    let (delivery, response) = fresh()
    for words in [[], ["-i"], ["-I"], ["--json"], ["--json", "-I"]] {
      var printer = DeliveryPrinter(
        try Form(try ArgumentParser.parse(words + ["http://a/"])), diagnostics: Diagnostics(),
        output: OutputDescriptor(number: file.descriptor))
      #expect(throws: BodyError.self, "\(words)") { try printer.show(delivery, response, as: Self.line) }
      #expect(throws: OutputError.self, "\(words)") { try printer.showHead([0x41]) }
      #expect(throws: OutputError.self, "\(words)") { try printer.showText([0x41]) }
      #expect(throws: OutputError.self, "\(words)") { try printer.showFailure(delivery, as: Self.line) }
    }
  }

  @Test func `a body of more than 16 MiB is not in its line`() throws {
    let response = Sample.response([UInt8](repeating: 0x61, count: (16 << 20) + 1))
    let run = try written(form("--json")) {
      try $0.show(.fresh(response, .new), response, as: Self.line)
    }
    #expect(run.output.contains(#""body_omitted":true,"body_bytes":16777217,"#))
  }

  @Test func `what the file does not take is withheld`() throws {
    let folder = try TemporaryFolder()
    let (_, error) = fresh(status: 404)
    let (_, response) = fresh()
    _ = try written(form("-o", folder.file("out"))) {
      #expect($0.withholds(error) && $0.leavesFile(error))
      #expect(!$0.withholds(response) && !$0.leavesFile(response))
    }
  }
}
