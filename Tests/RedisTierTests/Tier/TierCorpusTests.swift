import PlatformFoundation
import TestTurns
import Testing

@Suite("Inputs for what reads the tier", .inTurn) struct TierCorpusTests {
  @Test(arguments: TierFuzzTarget.allCases)
  func `every input of the corpus keeps the readers' properties`(target: TierFuzzTarget) throws {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let text = try String(contentsOf: root.appending(path: "Fuzz/corpus/\(target.rawValue)"), encoding: .utf8)
    let inputs = text.split(separator: "\n").compactMap { Data(base64Encoded: String($0)).map(Array.init) }
    #expect(!inputs.isEmpty)
    for input in inputs { #expect(target.check(input) == nil, "\(input)") }
  }
}
