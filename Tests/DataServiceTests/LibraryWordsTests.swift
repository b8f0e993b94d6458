import Foundation
import TestTurns
import Testing

@Suite("What the libraries say holds in every program", .inTurn) struct LibraryWordsTests {
  @Test(
    "no message or remedy names an option, a verb or a variable of the command",
    arguments: ["CacheStore", "DataService", "Launch", "RedisTier"])
  func words(target: String) throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/\(target)").standardized
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    var read = 0
    for case let file as URL in files where file.pathExtension == "swift" {
      read += 1
      for (number, line) in try String(contentsOf: file, encoding: .utf8).split(separator: "\n").enumerated()
      {
        guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { continue }
        let found = line.firstMatch(of: /--[a-z]|cachefetch |\$CACHEFETCH/)
        #expect(found == nil, "\(file.lastPathComponent):\(number + 1): \(line)")
      }
    }
    #expect(read > 0)
  }
}
