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
    #expect(try Paths.destination(of: folder.file("first")) == folder.file("sub/f"))
    #expect(try Paths.destination(of: folder.file("whole")) == folder.file("sub/first"))
    for path in ["new", "not/there", "not/there/", "sub/../new"] {
      #expect(try Paths.destination(of: folder.file(path)) == folder.file(path))
    }
    #expect(throws: UsageError.self) { try Paths.destination(of: folder.file("round")) }
    try folder.write("x", to: "sub/f")
    #expect(try Paths.destination(of: folder.file("first")).hasSuffix("/sub/f"))
    // The folder's own links are followed too, and what a link says may begin a way.
    symlink("sub", folder.file("folder"))
    symlink("../folder/../folder/new", folder.file("sub/up"))
    #expect(try Paths.destination(of: folder.file("folder/up")) == folder.file("sub/../sub/../sub/new"))
    for path in ["f", "./f", "a/f", "/", "."] { #expect(try Paths.destination(of: path) == path) }
  }

  @Test func `what stands in the way of a path is an error`() throws {
    let folder = try TemporaryFolder()
    try folder.write("x", to: "f")
    let failure = #expect(throws: UsageError.self) { try Paths.destination(of: folder.file("f/g")) }
    #expect(failure?.line.contains("a part of the path is not a folder") == true)
    #expect(failure?.status == .inputOutput)
  }

  @Test(
    "No link of another user is followed where others may write",
    .enabled(if: geteuid() == 0, "only the administrator can give links away"),
    arguments: [
      (0o1777, 65_534, 0, true), (0o777, 65_534, 0, true), (0o775, 65_534, 0, true),
      (0o755, 65_534, 0, false),
      (0o755, 65_534, 65_534, true), (0o1777, 0, 0, false),
    ] as [(mode_t, uid_t, uid_t, Bool)])
  func shared(mode: mode_t, owner: uid_t, folderOwner: uid_t, isRefused: Bool) throws {
    let folder = try TemporaryFolder()
    let real = try TemporaryFolder()
    try real.write("mine", to: "f")
    mkdir(folder.file("shared"), 0o700)
    for (link, target) in [("file", "f"), ("new", "new"), ("folder", "")] {
      let path = folder.file("shared/\(link)")
      #expect(symlink(real.file(target), path) == 0 && lchown(path, owner, owner) == 0)
    }
    // A link of one's own to the other's.
    symlink("shared/file", folder.file("own"))
    #expect(chown(folder.file("shared"), folderOwner, folderOwner) == 0)
    chmod(folder.file("shared"), mode)
    for name in ["shared/file", "shared/new", "shared/folder/f", "own"] {
      let path = folder.file(name)
      if isRefused {
        let failure = #expect(throws: UsageError.self, "\(name)") { try Paths.destination(of: path) }
        #expect(failure?.line.contains("another user's symbolic link") == true, "\(name)")
      } else {
        let found = try Paths.destination(of: path)
        #expect(found.hasPrefix(real.path + "/"), "\(name) \(found)")
      }
    }
  }

  @Test func `as many links are followed as the kernel follows`() throws {
    let folder = try TemporaryFolder()
    for number in 1...41 { symlink("\(number - 1)", folder.file("\(number)")) }
    #expect(try Paths.destination(of: folder.file("40")) == folder.file("0"))
    #expect(throws: UsageError.self) { try Paths.destination(of: folder.file("41")) }
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
