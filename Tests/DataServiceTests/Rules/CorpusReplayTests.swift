import PlatformFoundation
import Testing
import TestTurns

@Suite("Inputs the fuzzer found", .inTurn) struct CorpusReplayTests {
  /// The corpus at the package's root: one input a line, in base64.
  private func corpus(_ target: FuzzTarget) throws -> [[UInt8]] {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let text = try String(contentsOf: root.appending(path: "Fuzz/corpus/\(target.rawValue)"), encoding: .utf8)
    return text.split(separator: "\n").compactMap { Data(base64Encoded: String($0)).map(Array.init) }
  }

  @Test("Every input of the corpus keeps the rules' properties", arguments: FuzzTarget.allCases)
  func replay(target: FuzzTarget) throws {
    let inputs = try corpus(target)
    #expect(!inputs.isEmpty)
    for input in inputs {
      #expect(target.check(input) == nil, "\(input)")
    }
  }
}
