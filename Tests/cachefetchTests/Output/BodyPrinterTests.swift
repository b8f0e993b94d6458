import DataService
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: bodies and heads", .inTurn) struct BodyPrinterTests {
  /// What `work` writes to standard output, and what it says on standard error.
  private func written(
    terminal: Terminal = .both, _ work: (inout BodyPrinter) throws -> Void
  ) throws -> (output: [UInt8], errors: String) {
    let streams = try WrittenStreams(terminal: terminal)
    var printer = BodyPrinter(
      isTerminal: terminal.isOutput, hasColour: terminal.hasColour, diagnostics: streams.diagnostics,
      output: streams.output.output)
    try work(&printer)
    return (streams.output.bytes, streams.errors.text)
  }

  private func shown(_ bytes: [UInt8], type: String?, terminal: Terminal = .both) throws -> (String, String) {
    let (output, errors) = try written(terminal: terminal) {
      let count = try $0.printBody(Sample.response(bytes, type: type))
      #expect(count == Int64(bytes.count))
    }
    return (String(decoding: output, as: UTF8.self), errors)
  }

  private static let latin = "text/plain; charset=iso-8859-1"

  @Test(
    "A body is made readable and safe on a terminal",
    arguments: [
      ("lines stay", nil, Array("a\nb\n".utf8), "a\nb\n"),
      ("the last line is ended", nil, Array("a".utf8), "a\n"),
      ("what acts on it is shown", nil, Array("\u{1B}c\n".utf8), "^[c\n"),
      ("an empty body is nothing", nil, [], ""),
      ("JSON by its type", "application/problem+json", Array(" 1 ".utf8), "1\n"),
      ("not JSON by another", "text/plain", Array(" 1 ".utf8), " 1 \n"),
      ("JSON by its brace", nil, Array(#"{"a":1}"#.utf8), "{\n  \"a\": 1\n}\n"),
      ("JSON by its bracket, after space", nil, Array(" \n\r\t[]".utf8), "[]\n"),
      ("broken JSON is text", "application/json", Array("[1,\n".utf8), "[1,\n"),
      ("declared Latin-1", latin, [0x61, 0xC3], "aÃ\n"),
      ("declared Latin-1 that is UTF-8", latin, Array("é".utf8), "é\n"),
      (
        "declared Latin-1, cut where it is looked at", latin, latinBody(8_188, [0xE9, 0xE8, 0xE7, 0xE6]), nil
      ),
      ("UTF-8, cut where it is looked at", latin, latinBody(8_189, Array("🙂".utf8)), nil),
    ] as [(String, String?, [UInt8], String?)])
  func onTerminal(name: String, type: String?, bytes: [UInt8], expected: String?) throws {
    let (output, errors) = try shown(bytes, type: type)
    if let expected { #expect(output == expected, "\(name)") }
    if expected == nil { #expect(output.hasSuffix("aéèçæb\n") || output.hasSuffix("a🙂b\n"), "\(name)") }
    #expect(errors.isEmpty, "\(name)")
  }

  private static func latinBody(_ count: Int, _ end: [UInt8]) -> [UInt8] {
    [UInt8](repeating: 0x61, count: count) + end + [0x62]
  }

  @Test func `colours are for terminals that have them`() throws {
    #expect(try shown(Array("[1]".utf8), type: nil, terminal: .coloured).0.contains("\u{1B}[36m1\u{1B}[0m"))
    #expect(try !shown(Array("[1]".utf8), type: nil).0.contains("\u{1B}"))
  }

  @Test @MainActor func `a binary body is refused with its size, where that is known`() throws {
    let (output, errors) = try shown([0x50, 0x4B, 0], type: nil)
    #expect(output.isEmpty)
    let remedy = "is not written to a terminal; write -o FILE, or -o - to insist\n"
    #expect(errors == "cachefetch: a binary body of 3 B \(remedy)")
    let pieces = try written { try $0.printBody(Sample.response(pieces: [[0x50, 0], [0x61]], type: nil)) }
    #expect(pieces.output.isEmpty && pieces.errors == "cachefetch: a binary body \(remedy)")
  }

  @Test @MainActor func `in a pipe the bytes are exact`() throws {
    let bytes: [UInt8] = [0x1B, 0xFF, 0, 0x5B, 0x5D]
    let run = try written(terminal: Terminal()) {
      let whole = try $0.printBody(Sample.response(bytes, type: nil))
      let pieces = try $0.printBody(Sample.response(pieces: [bytes, [], bytes], type: nil))
      #expect(whole == 5 && pieces == 10)
    }
    #expect(run.output == bytes + bytes + bytes && run.errors.isEmpty)
  }

  @Test(arguments: [Terminal(), .both]) func `a head begins a line, and text does not`(
    terminal: Terminal
  )
    throws
  {
    let run = try written(terminal: terminal) {
      try $0.printHead(Array("A\n".utf8))
      try $0.printHead(Array("B".utf8))
      try $0.printHead(Array("C\n".utf8))
      try $0.printText(Array("d".utf8))
      try $0.printText([])
      try $0.printText(Array("\u{9B}\n".utf8))
      try $0.printHead(Array("E".utf8))
    }
    let text = terminal.isOutput ? "<U+009B>" : "\u{9B}"
    #expect(String(decoding: run.output, as: UTF8.self) == "A\nB\nC\nd\(text)\nE")
  }

  @Test @MainActor func `a body says whether it has ended its line`() throws {
    let run = try written(terminal: Terminal()) {
      try $0.printBody(Sample.response(Array("a".utf8)))
      try $0.printBody(Sample.response([]))
      try $0.printHead(Array("B\n".utf8))
      try $0.printBody(Sample.response(pieces: [Array("c\n".utf8), []]))
      try $0.printHead(Array("D".utf8))
    }
    #expect(String(decoding: run.output, as: UTF8.self) == "a\nB\nc\nD")
  }

  @Test func `a document of 4 MiB is made pretty, a larger one is shown as it is`() throws {
    func document(_ count: Int) -> [UInt8] {
      [0x5B] + [UInt8](repeating: 0x20, count: count - 2) + [0x5D]
    }
    #expect(try shown(document(4 << 20), type: nil).0 == "[]\n")
    #expect(try shown(document(4 << 20 + 1), type: nil).0.utf8.count == 4 << 20 + 2)
  }

  @Test @MainActor func `pieces are shown one by one, and the last line is ended`() throws {
    func text(_ pieces: [[UInt8]], _ type: String?) throws -> String {
      let run = try written {
        let count = try $0.printBody(Sample.response(pieces: pieces, type: type))
        #expect(count == Int64(pieces.joined().count))
        try $0.printHead(Array("E".utf8))
      }
      return String(decoding: run.output, as: UTF8.self)
    }
    #expect(try text([[0x61, 0x1B], [], [0x62]], nil) == "a^[b\nE")
    #expect(try text([[0x61], [0x62, 0x0A]], nil) == "ab\nE")
    #expect(try text([[0xE9, 0x61, 0x62, 0x63], [0xE8, 0x0A]], Self.latin) == "éabcè\nE")
    #expect(try text([], nil) == "E")
    // What a body is, its beginning says.
    #expect(try text([[0x61], [0x00]], nil) == "a^@\nE")
  }

  @Test @MainActor func `an output that takes no more is an error, at the end of the last line too`() throws {
    let bodies: [(name: String, body: () -> DeliveryPrinter.Response)] = [
      ("whole", { Sample.response([0x61, 0x62]) }),
      ("pieces", { Sample.response(pieces: [[0x61], [0x62]]) }),
      ("pieces that end their line", { Sample.response(pieces: [[0x61], [0x62, 0x0A]]) }),
    ]
    func failure(_ body: DeliveryPrinter.Response, room: Int) throws -> BodyError? {
      let file = try FileWithRoom(for: room)
      var printer = BodyPrinter(
        isTerminal: true, hasColour: false, diagnostics: Diagnostics(),
        output: OutputDescriptor(number: file.descriptor))
      do throws(BodyError) {
        try printer.printBody(body)
        return nil
      } catch {
        return error
      }
    }
    let full = OutputError.failed(1, path: nil)
    for (name, body) in bodies {
      for room in 0...2 {
        guard case .output(full)? = try failure(body(), room: room) else {
          Issue.record("\(name), room for \(room)")
          continue
        }
      }
      #expect(try failure(body(), room: 3) == nil, "\(name)")
    }
    let file = try FileWithRoom(for: 1)
    var printer = BodyPrinter(
      isTerminal: false, hasColour: false, diagnostics: Diagnostics(),
      output: OutputDescriptor(number: file.descriptor))
    try printer.printText([0x61])
    #expect(throws: full) { try printer.printHead([]) }
  }

  @Test(
    "A body is binary that has a NUL near its beginning, or too many bytes that are no text",
    arguments: [
      ("UTF-8", Array("héllo\n".utf8), false, false), ("a NUL", [0x50, 0x4B, 0], false, true),
      ("a NUL in text", [0x61, 0x61, 0x61, 0x61, 0], true, true),
      ("a few letters of another encoding", [UInt8](repeating: 0x61, count: 30) + [0xE9], false, false),
      ("a quarter", [0x61, 0x61, 0x61, 0xE9], false, false), ("more", [0x61, 0x61, 0xE9], false, true),
      ("declared letters", [0xE9, 0xE8], true, false), ("the lowest of them", [0x80], false, true),
      ("control characters", [0xFF, 1, 0x61, 0x61, 0x61], false, true),
      ("declared, control characters", [0xFF, 1, 2], true, true),
      ("spaces", [0xFF, 0x20, 0x20, 0x20], false, false), ("white space", [0xFF, 9, 10, 12], false, false),
      ("line breaks and colours", [0xFF, 13, 0x1B, 0x61], false, false),
      ("a NUL behind what is looked at", [UInt8](repeating: 0x61, count: 8_192) + [0], false, false),
      ("a NUL at its end", [UInt8](repeating: 0x61, count: 8_191) + [0], false, true),
      ("compressed", [0x89, 0xFF, 0xFE, 0x80], false, true),
    ] as [(String, [UInt8], Bool, Bool)])
  func binary(name: String, bytes: [UInt8], isText: Bool, isBinary: Bool) {
    #expect(BodyPrinter.isBinary(bytes[...], isWhole: true, isText: isText) == isBinary, "\(name)")
  }
}
