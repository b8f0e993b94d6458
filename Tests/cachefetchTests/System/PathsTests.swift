import PlatformC
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("System: what a path says", .inTurn) struct PathsTests {
  @Test(arguments: [("f", "."), ("/f", "/"), ("a/f", "a"), ("/a/b/f", "/a/b")])
  func `the folder is what stands before the last slash, or the current one`(path: String, folder: String) {
    #expect(Paths.folder(of: path) == folder)
  }

  @Test func `links are followed to a file that is not there yet, in their own folder`() throws {
    let folder = try TemporaryFolder()
    mkdir(folder.file("sub"), 0o700)
    symlink("sub/second", folder.file("first"))
    symlink("f", folder.file("sub/second"))
    symlink(folder.file("sub/first"), folder.file("whole"))
    symlink("round", folder.file("round"))
    #expect(Paths.destination(of: folder.file("first")) == folder.file("sub/f"))
    #expect(Paths.destination(of: folder.file("whole")) == folder.file("sub/first"))
    #expect(Paths.destination(of: folder.file("new")) == folder.file("new"))
    #expect(Paths.destination(of: folder.file("round")) == nil)
    try folder.write("x", to: "sub/f")
    #expect(Paths.destination(of: folder.file("first"))?.hasSuffix("/sub/f") == true)
  }

  @Test func `as many links are followed as the kernel follows`() throws {
    let folder = try TemporaryFolder()
    for number in 1...41 { symlink("\(number - 1)", folder.file("\(number)")) }
    #expect(Paths.destination(of: folder.file("40")) == folder.file("0"))
    #expect(Paths.destination(of: folder.file("41")) == nil)
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
