import CacheStore
import DataService
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: what diff says", .inTurn) struct DiffReportTests {
  private func written(
    isJSON: Bool = false, terminal: Terminal = Terminal(), _ work: (DiffReport) throws -> Void
  ) throws -> (output: String, errors: String) {
    let streams = try WrittenStreams(terminal: terminal)
    let line = DeliveryLine(url: "http://a/", request: DataService.Request(URL(filePath: "/x")))
    try work(
      DiffReport(
        line: line, isJSON: isJSON, diagnostics: streams.diagnostics, output: streams.output.output))
    return (streams.output.text, streams.errors.text)
  }

  private static func side(_ body: String, status: Int = 200, kept: DataService.Kept = .yes) throws
    -> DiffSide
  {
    try DiffSide(
      Sample.response(Array(body.utf8), isStored: true) {
        $0.status = status
        $0.kept = kept
      })
  }

  private static func json(_ old: String, _ new: String) throws -> DiffReport.Difference {
    .json(try #require(JSONDifference(from: Data(old.utf8), to: Data(new.utf8), ignoring: [])))
  }

  private static let stored =
    #""stored":{"status":200,"stored_at":"1970-01-01T00:00:01.500Z","body_bytes":3}"#

  @Test func `the first time it says whether there is something to compare with now`() throws {
    let kept = try Self.side("abc")
    let left = try Self.side("abc", kept: .no(.noStore))
    #expect(
      try written { try $0.first(kept) }.errors
        == "cachefetch: http://a/: nothing stored yet to compare with; the fresh response has been stored\n")
    let run = try written { try $0.first(left) }
    #expect(run.output.isEmpty)
    #expect(
      run.errors
        == "cachefetch: http://a/: nothing is stored to compare with, and the fresh response was not stored either (no-store)\n"
    )
    let begin = #"{"url":"http://a/","method":"GET","result":"first","fresh":{"status":200,"#
    #expect(
      try written(isJSON: true) { try $0.first(kept) }.output == begin + #""kept":true,"body_bytes":3}}"#
        + "\n")
    #expect(
      try written(isJSON: true) { try $0.first(left) }.output == begin
        + #""kept":false,"kept_reason":"noStore","body_bytes":3}}"# + "\n")
  }

  @Test func `where the store may not be written the remedy is said, unless a warning has said it`() throws {
    let left = try Self.side("abc", kept: .no(.readOnly))
    let remedy = "; name a store you may write to with --store PATH or $CACHEFETCH_STORE\n"
    #expect(try written { try $0.first(left) }.errors.hasSuffix("(the store is only read)" + remedy))
    let warned = try written {
      $0.diagnostics.warn(.init(kind: .store, message: "no store", remedy: .writableStore))
      try $0.first(left)
    }
    #expect(warned.errors.hasPrefix("cachefetch: no store" + remedy))
    #expect(warned.errors.hasSuffix("(the store is only read)\n"))
  }

  @Test func `a failure is said, with what is stored`() throws {
    let error = DataServiceError(.offline, "no network")
    let side = try Self.side("abc")
    let run = try written { try $0.failed(error, stored: side) }
    #expect(run.output.isEmpty && run.errors == "cachefetch: http://a/: no network\n")
    #expect(
      try written(isJSON: true) { try $0.failed(error, stored: side) }.output
        == #"{"url":"http://a/","method":"GET","result":"failure","# + Self.stored
        + #","error":{"kind":"offline","message":"no network"}}"# + "\n")
  }

  @Test func `each way to differ has its words`() throws {
    func text(_ difference: DiffReport.Difference?, status: Int = 200) throws -> String {
      let (stored, fresh) = (try Self.side("abc"), try Self.side("abcd", status: status))
      let run = try written { try $0.compared(stored, fresh, difference) }
      #expect(run.errors.isEmpty == { if case .unshown? = difference { false } else { true } }())
      return run.output
    }
    #expect(try text(nil) == "")
    #expect(try text(nil, status: 404) == "status 200 → 404\n")
    #expect(try text(.binary, status: 404) == "status 200 → 404\nbinary bodies differ: 3 B → 4 B\n")
    #expect(try text(.binary) == "binary bodies differ: 3 B → 4 B\n")
    #expect(try text(.large) == "large bodies differ: 3 B → 4 B\n")
    #expect(try text(.unshown) == "text bodies differ: 3 B → 4 B\n")
    #expect(try text(.text([0x2D, 0x1B, 0xFF])).utf8.starts(with: [0x2D, 0x1B]))
    #expect(try text(Self.json(#"{"a":1}"#, #"{"a":2,"b":3}"#)) == "- /a: 1\n+ /a: 2\n+ /b: 3\n")
  }

  @Test func `its JSON object has what changed`() throws {
    func text(_ difference: DiffReport.Difference?, status: Int = 200) throws -> String {
      let (stored, fresh) = (try Self.side("abc"), try Self.side("abcd", status: status))
      let line = try written(isJSON: true) { try $0.compared(stored, fresh, difference) }.output
      let begin = #"{"url":"http://a/","method":"GET","result":""#
      let isSame = difference == nil && status == 200
      #expect(line.hasPrefix(begin + (isSame ? "same" : "different") + "\"," + Self.stored))
      return line.split(separator: #""kept":true,"body_bytes":4}"#).last.map(String.init) ?? ""
    }
    #expect(try text(nil) == "}\n" && text(nil, status: 404) == "}\n" && text(.binary) == "}\n")
    #expect(
      try text(Self.json("[1]", "[]"), status: 404) == #","changes":[{"path":"/0","old":1}]}"# + "\n")
    #expect(try text(.large) == "}\n")
    #expect(
      try text(Self.json(#"{"a":1}"#, #"{"a":2,"b":3}"#))
        == #","changes":[{"path":"/a","old":1,"new":2},{"path":"/b","new":3}]}"# + "\n")
    #expect(try text(Self.json("[1]", "[]")) == #","changes":[{"path":"/0","old":1}]}"# + "\n")
    #expect(try text(.text(Array("+a\n".utf8))) == #","text":"+a\n"}"# + "\n")
    func numbers(_ add: Int) -> String {
      "[" + (0...JSONDifference.limit).map { "\($0 + add)" }.joined(separator: ",") + "]"
    }
    #expect(try text(Self.json(numbers(0), numbers(1))).hasSuffix(#"],"changes_omitted":1}"# + "\n"))
  }

  @Test func `on a terminal the lines are harmless, and coloured where it has colours`() throws {
    let text = "@@ 1\n-a\u{1B}\n+b\n c\n"
    func shown(_ terminal: Terminal) throws -> String {
      let side = try Self.side("abc")
      return try written(terminal: terminal) { try $0.compared(side, side, .text(Array(text.utf8))) }.output
    }
    #expect(try shown(Terminal(hasColour: true)) == text)
    #expect(try shown(.both) == "@@ 1\n-a^[\n+b\n c\n")
    func coloured(_ colour: Int, _ line: String) -> String { "\u{1B}[\(colour)m\(line)\u{1B}[0m\n" }
    #expect(
      try shown(.coloured) == coloured(36, "@@ 1") + coloured(31, "-a^[") + coloured(32, "+b") + " c\n")
  }

  @Test func `an output that takes no more is an error, whatever is said`() throws {
    let file = try FileWithRoom(for: 0)
    let side = try Self.side("abc")
    let json = try Self.json("1", "2")
    for isJSON in [false, true] {
      let streams = try WrittenStreams()
      let report = DiffReport(
        line: DeliveryLine(url: "http://a/", request: DataService.Request(URL(filePath: "/x"))),
        isJSON: isJSON,
        diagnostics: streams.diagnostics, output: OutputDescriptor(number: file.descriptor))
      for difference in [.binary, .large, .unshown, .text([0x61]), json] {
        #expect(throws: OutputError.self, "\(isJSON), \(difference)") {
          try report.compared(side, side, difference)
        }
      }
      guard isJSON else { continue }
      #expect(throws: OutputError.self, "\(isJSON)") { try report.first(side) }
      #expect(throws: OutputError.self, "\(isJSON)") {
        try report.failed(DataServiceError(.offline, "no network"), stored: nil)
      }
    }
  }

  @Test func `a terminal that takes no more is an error too`() throws {
    let file = try FileWithRoom(for: 0)
    let side = try Self.side("abc")
    let streams = try WrittenStreams(terminal: .both)
    let report = DiffReport(
      line: DeliveryLine(url: "http://a/", request: DataService.Request(URL(filePath: "/x"))),
      isJSON: false,
      diagnostics: streams.diagnostics, output: OutputDescriptor(number: file.descriptor))
    #expect(throws: OutputError.self) { try report.compared(side, side, .text([0x61])) }
  }
}
