import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The names of the store's files, and what may stand there", .inTurn) struct StoreFilesTests {
  private func message(_ attempt: () throws -> Void) -> String? {
    do {
      try attempt()
      return nil
    } catch { return (error as? CacheStoreError)?.message ?? "\(error)" }
  }

  @Test func `what cannot be a store is refused before it is opened, and the error says what it is`() throws {
    let folder = try TemporaryFolder()
    let target = try folder.write("x", to: "target")
    #expect(mkdir(folder.file("folder"), 0o700) == 0)
    #expect(symlink(target, folder.file("link")) == 0)
    #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
    for (path, says) in [
      (folder.file("folder"), "is a folder"), (folder.file("link"), "is a symbolic link"),
      (folder.file("pipe"), "is not a regular file"), (target + "/sub", "cannot open the store"),
      ("", "no place for the store"), (":memory:", "is not a file"),
    ] {
      let said = message { _ = try StoreFiles(path: path).checkedStatus() }
      #expect(said?.contains(says) == true, "\(path): \(said ?? "nothing")")
    }
    #expect(try StoreFiles(path: target).checkedStatus()?.bytes == 1)
    #expect(try StoreFiles(path: folder.file("none")).checkedStatus() == nil)
    #expect(try StoreFiles(path: folder.file("none/none")).checkedStatus() == nil)
  }

  @Test(arguments: [(0o700, true), (0o777, false), (0o720, false), (0o702, false)] as [(mode_t, Bool)])
  func `a second name of the store is refused where others may give it one`(mode: mode_t, isAllowed: Bool)
    throws
  {
    let folder = try TemporaryFolder()
    let path = try folder.write("x", to: "store.sqlite")
    #expect(link(path, folder.file("second")) == 0)
    chmod(folder.path, mode)
    let said = message { _ = try StoreFiles(path: path).checkedStatus() }
    if isAllowed {
      #expect(said == nil)
    } else {
      #expect(said?.contains("is another file's second name") == true)
    }
  }

  @Test(arguments: ["-wal", "-shm", "-journal"])
  func `what SQLite opens is checked before, and after where others may have put it there`(ending: String)
    throws
  {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    #expect(mkfifo(files.database + ending, 0o600) == 0)
    for mode in [0o777, 0o700] as [mode_t] {
      chmod(folder.path, mode)
      let before = message { try files.checkCompanions() }
      #expect(before?.contains("is not a regular file") == true, "\(mode)")
      let after = message { try files.checkOpenedCompanions() }
      #expect((after != nil) == (mode == 0o777), "\(mode)")
    }
  }

  @Test func `what is left over is removed, or in the way`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    try files.removeLeftover(folder.file("none"))
    try folder.write("x", to: "left")
    try files.removeLeftover(folder.file("left"))
    #expect(!folder.contains("left"))
    #expect(mkdir(folder.file("left"), 0o700) == 0)
    let said = message { try files.removeLeftover(folder.file("left")) }
    #expect(said?.contains("is in the way") == true)
  }

  @Test func `a store is missing where neither it nor a repaired one is there`() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("x", to: "file")
    for (path, isMissing) in [
      (folder.file("none"), true), (folder.file("none/none"), true), (file + "/none", true), (file, false),
      ("", false), (folder.file(String(repeating: "x", count: 300)), false),
    ] { #expect(StoreFiles(path: path).isMissing == isMissing, "\(path)") }
    try folder.write("x", to: "none.repaired")
    #expect(!StoreFiles(path: folder.file("none")).isMissing)
  }

  @Test func `a store can be made below any folder that may be written, and the obstacle is named`() throws {
    let folder = try TemporaryFolder()
    for name in ["store.sqlite", "a/store.sqlite", "a/b/store.sqlite"] {
      #expect(StoreFiles(path: folder.file(name)).obstacle() == nil, "\(name)")
    }
    let part = try folder.write("x", to: "file") + "/sub"
    let path = part + "/store.sqlite"
    #expect(
      StoreFiles(path: path).obstacle() == "cannot make a store at \(path): \(part): Not a directory")
  }

  @Test func `links of the folder are followed, and the root is a folder too`() throws {
    let folder = try TemporaryFolder()
    let parent = try TemporaryFolder()
    #expect(symlink(folder.path, parent.file("here")) == 0)
    let real = try StoreFiles(path: folder.file("store.sqlite")).resolved()
    #expect(try StoreFiles(path: parent.file("here/store.sqlite")).resolved() == real)
    #expect(real.hasSuffix("/store.sqlite"))
    #expect(try StoreFiles(path: "/store.sqlite").resolved() == "/store.sqlite")
    let said = message { _ = try StoreFiles(path: folder.file("none/store.sqlite")).resolved() }
    #expect(said?.contains("its folder \(folder.file("none"))") == true)
    for (path, name, its) in [("/a/b", "b", "/a"), ("b", "b", "."), ("/b", "b", "/")] {
      #expect(StoreFiles(path: path).name == name && StoreFiles(path: path).folder == its, "\(path)")
    }
  }

  @Test func `a file can be written where it is there`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    #expect(files.isFolderWritable && !files.isWritable)
    try folder.write("x", to: "store.sqlite")
    #expect(files.isWritable)
  }

  @Test func `the key may have the second name that its making gives it, and no third`() throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    let made = try DigestKey.loadOrCreate(nextTo: files.database).digest([1])
    #expect(link(files.key, folder.file("second")) == 0)
    #expect(try DigestKey.load(nextTo: files.database)?.digest([1]) == made)
    #expect(link(files.key, folder.file("third")) == 0)
    let said = message { _ = try DigestKey.load(nextTo: files.database) }
    #expect(said?.contains("the digest key \(files.key) is another file's second name") == true)
  }
}
