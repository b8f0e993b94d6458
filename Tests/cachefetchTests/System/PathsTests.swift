import Testing
import TestTurns

@testable import cachefetch

@Suite("System: what a path says", .inTurn) struct PathsTests {
  @Test(arguments: [("f", "."), ("/f", "/"), ("a/f", "a"), ("/a/b/f", "/a/b")])
  func `the folder of a path`(path: String, folder: String) {
    #expect(Paths.folder(of: path) == folder)
  }
}
