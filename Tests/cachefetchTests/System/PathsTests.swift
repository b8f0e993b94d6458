import Testing
import TestTurns

@testable import cachefetch

@Suite("System: what a path says", .inTurn) struct PathsTests {
  @Test(arguments: [("f", "."), ("/f", "/"), ("a/f", "a"), ("/a/b/f", "/a/b")])
  func `the folder of a path`(path: String, folder: String) {
    #expect(Paths.folder(of: path) == folder)
  }

  @Test func `what stands beside a file has its name, of which 200 bytes are kept`() {
    for (name, kept) in [
      ("f", "f"), (String(repeating: "a", count: 200), String(repeating: "a", count: 200)),
      (String(repeating: "a", count: 201), String(repeating: "a", count: 200)),
      // No character is cut in two.
      (String(repeating: "a", count: 199) + "é", String(repeating: "a", count: 199)),
    ] {
      let part = Paths.part(of: "/x/" + name)
      #expect(part.hasPrefix("/x/\(kept).") && part.hasSuffix(".part"), "\(part)")
    }
    #expect(Paths.part(of: "f").hasPrefix("f."))
  }
}
