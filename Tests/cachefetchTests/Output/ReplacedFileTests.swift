import DataService
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: the file of -o", .inTurn) struct ReplacedFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func pieces(_ text: String) -> BodyPieces {
    BodyPieces(stream: Sample.response(pieces: text.map { Array(String($0).utf8) }).value)
  }

  private func mode(_ name: String) -> mode_t {
    var status = stat()
    return stat(folder.file(name), &status) == 0 ? status.st_mode & 0o7777 : 0
  }

  @Test @MainActor func `a head and a body take the place of what was there`() throws {
    let file = try ReplacedFile(folder.file("f"))
    #expect(try file.replace(head: Array("H".utf8), with: pieces("abc")) == 3)
    #expect(try folder.text(of: "f") == "Habc")
    #expect(try file.replace(with: pieces("de")) == 2)
    #expect(try folder.text(of: "f") == "de")
    #expect(try file.replace(head: Array("H".utf8), with: nil) == 0)
    #expect(try folder.text(of: "f") == "H" && folder.names() == ["f"])
  }

  @Test @MainActor func `a body that breaks off leaves what was there, and nothing beside it`() throws {
    try folder.write("old", to: "f")
    let broken = BodyPieces(
      stream: .init(length: nil) { () throws(DataServiceError) in
        throw DataServiceError(.truncated, "cut off")
      })
    #expect(throws: BodyError.self) { try ReplacedFile(folder.file("f")).replace(with: broken) }
    #expect(try folder.text(of: "f") == "old" && folder.names() == ["f"])
  }

  @Test @MainActor func `what another process, even one of this number, is writing is left alone`() throws {
    try folder.write("half", to: "f.\(getpid()).part")
    try ReplacedFile(folder.file("f")).replace(with: pieces("new"))
    #expect(try folder.text(of: "f") == "new")
    #expect(try folder.text(of: "f.\(getpid()).part") == "half" && folder.names().count == 2)
    #expect(Paths.part(of: "f") != Paths.part(of: "f"))
    let long = String(repeating: "ä", count: 127)
    #expect(Paths.part(of: "/x/" + long).utf8.count <= 3 + 255 - "-journal".utf8.count)
    #expect(Paths.part(of: "/x/" + long).hasPrefix("/x/ä"))
    try ReplacedFile(folder.file(long)).replace(with: pieces("new"))
    #expect(try folder.text(of: long) == "new")
  }

  @Test(arguments: [(0o600, 0o600), (0o666, 0o666), (0o4755, 0o755)])
  @MainActor func `rights are kept, and none is given away`(before: Int, after: Int) throws {
    try folder.write("old", to: "f")
    chmod(folder.file("f"), mode_t(before))
    try ReplacedFile(folder.file("f")).replace(with: pieces("new"))
    #expect(mode("f") == mode_t(after))
  }

  @Test @MainActor func `a link stays one, and leads to the new content`() throws {
    try folder.write("old", to: "f")
    symlink("f", folder.file("link"))
    let file = try ReplacedFile(folder.file("link"))
    #expect(file.name == folder.file("link") && file.path.hasSuffix("/f"))
    try file.replace(with: pieces("new"))
    #expect(try folder.text(of: "f") == "new" && folder.names() == ["f", "link"])
    #expect(ReplacedFile.target(of: folder.file("link"))?.hasSuffix("/f") == true)
    #expect(ReplacedFile.target(of: folder.file("none")) == nil)
  }

  @Test @MainActor func `a link to a file that is not there yet stays one`() throws {
    symlink("f", folder.file("link"))
    #expect(ReplacedFile.target(of: folder.file("link")) == folder.file("f"))
    try ReplacedFile(folder.file("link")).replace(with: pieces("new"))
    var status = stat()
    #expect(lstat(folder.file("link"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    #expect(try folder.text(of: "f") == "new" && folder.names() == ["f", "link"])
  }

  @Test func `links in a circle are an error`() {
    symlink("b", folder.file("a"))
    symlink("a", folder.file("b"))
    do throws(UsageError) {
      _ = try ReplacedFile(folder.file("a"))
      Issue.record("taken")
    } catch {
      #expect(error.line.contains("too many symbolic links") && error.status == .inputOutput)
    }
    #expect(ReplacedFile.target(of: folder.file("a")) == nil)
  }

  @Test(arguments: ["/dev/fd/", "/proc/self/fd/"])
  @MainActor func `an open descriptor is written to and stays open`(prefix: String) throws {
    try folder.write("old", to: "f")
    let descriptor = open(folder.file("f"), O_WRONLY | O_APPEND)
    defer { close(descriptor) }
    var file: ReplacedFile? = try ReplacedFile("\(prefix)\(descriptor)")
    #expect(file?.isDirect == true && file?.path == "\(prefix)\(descriptor)")
    for body in ["abc", "de"] { try file?.replace(head: Array("H".utf8), with: pieces(body)) }
    file = nil
    #expect(write(descriptor, "f", 1) == 1)
    #expect(try folder.text(of: "f") == "oldHabcHdef" && folder.names() == ["f"])
  }

  @Test(arguments: [O_RDONLY, O_WRONLY | O_CLOEXEC])
  func `a descriptor that cannot be written, or that was not given, is an error`(flags: Int32) throws {
    try folder.write("old", to: "f")
    let descriptor = open(folder.file("f"), flags)
    defer { close(descriptor) }
    do throws(UsageError) {
      _ = try ReplacedFile("/dev/fd/\(descriptor)")
      Issue.record("taken")
    } catch {
      #expect(error.line.contains("cannot be written: it is closed") && error.status == .inputOutput)
    }
    #expect(try folder.text(of: "f") == "old")
  }

  @Test @MainActor func `a pipe or a device gets the bytes as they come`() throws {
    let null = try ReplacedFile("/dev/null")
    #expect(null.isDirect)
    #expect(try null.replace(with: pieces("abc")) == 3)
    let path = folder.file("pipe")
    mkfifo(path, 0o600)
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    try ReplacedFile(path).replace(head: Array("H".utf8), with: pieces("abc"))
    var bytes = [UInt8](repeating: 0, count: 9)
    #expect(read(reader, &bytes, 9) == 4 && bytes.starts(with: Array("Habc".utf8)))
    #expect(try folder.names() == ["pipe"])
  }

  @Test @MainActor func `a pipe stays open for the next body, and its reader is not at an end`() async throws
  {
    let path = folder.file("pipe")
    mkfifo(path, 0o600)
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    var bytes = [UInt8](repeating: 0, count: 9)
    var file: ReplacedFile? = try ReplacedFile(path)
    for body in ["abc", "de"] {
      try file?.replace(with: pieces(body))
      #expect(read(reader, &bytes, 9) == body.utf8.count && bytes.starts(with: Array(body.utf8)))
      #expect(read(reader, &bytes, 9) == -1, "there is still who writes")
    }
    file = nil
    // A child that another test starts has the writer's end too, until it has its own program.
    let isAtEnd = await eventually { @Sendable in
      var rest: UInt8 = 0
      return read(reader, &rest, 1) == 0
    }
    #expect(isAtEnd)
  }

  @Test @MainActor func `an error names the file that it is about`() throws {
    func failure(_ path: String) throws -> OutputError? {
      let file = try ReplacedFile(path)
      do throws(BodyError) {
        try file.replace(head: [0x41], with: pieces("abc"))
        return nil
      } catch {
        if case .output(let error) = error { return error }
        return nil
      }
    }
    #expect(try failure("/dev/full") == .failed(ENOSPC, path: "/dev/full"))
    // A folder that has come in the file's place.
    let file = try ReplacedFile(folder.file("f"))
    mkdir(folder.file("f"), 0o700)
    try folder.write("x", to: "f/x")
    do throws(BodyError) {
      try file.replace(with: pieces("abc"))
      Issue.record("a folder was replaced")
    } catch {
      guard case .output(.failed(let number, let path)) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(number == EISDIR && path == folder.file("f"))
    }
    #expect(try folder.names() == ["f"])
  }

  @Test(arguments: [
    ("/", "a folder"), ("/nowhere/at/all", "“/nowhere/at” cannot be written: no such file or folder"),
  ]) func `where nothing can be written it says so at once`(path: String, part: String) {
    do throws(UsageError) {
      _ = try ReplacedFile(path)
      Issue.record("taken")
    } catch {
      #expect(error.line.contains(part) && error.status == .inputOutput)
    }
  }

  @Test @MainActor func `a head that cannot be written is an error, though no body follows`() throws {
    let full = try ReplacedFile("/dev/full")
    do throws(BodyError) {
      try full.replace(head: [0x41], with: nil)
      Issue.record("it was taken")
    } catch {
      guard case .output(let refusal) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(refusal == .failed(ENOSPC, path: "/dev/full"))
    }
  }

  @Test @MainActor func `a new file can be read and is no program`() throws {
    try ReplacedFile(folder.file("f")).replace(with: pieces("new"))
    #expect(mode("f") & 0o600 == 0o600 && mode("f") & 0o7111 == 0)
  }

  @Test @MainActor func `no file stays open, neither one that is whole nor one that is dropped`() throws {
    let file = try ReplacedFile(folder.file("f"))
    try file.replace(with: pieces("new"))
    let broken = BodyPieces(
      stream: .init(length: nil) { () throws(DataServiceError) in
        throw DataServiceError(.truncated, "cut off")
      })
    #expect(throws: BodyError.self) { try file.replace(with: broken) }
    #expect(try openFiles(below: folder.path) == [])
  }
}
