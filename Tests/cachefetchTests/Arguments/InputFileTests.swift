import PlatformC
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("System: files that options name", .inTurn) struct InputFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func failure(_ path: String) -> UsageError? {
    do throws(UsageError) {
      _ = try InputFile.read(path, for: "-d")
      return nil
    } catch {
      return error
    }
  }

  @Test func `a file is read whole, whatever its size`() throws {
    for count in [0, 1, 65_536, 65_537, 1_000_000] {
      let bytes = distinctBytes(count)
      #expect(try InputFile.read(folder.write(bytes, to: "f"), for: "-d") == bytes, "\(count)")
    }
  }

  @Test func `what cannot be read is named, with what to do`() throws {
    let (nowhere, here) = (folder.file("none"), folder.path)
    #expect(
      failure(nowhere)
        == UsageError("-d “\(nowhere)” cannot be read: no such file or folder", "give a readable file"))
    #expect(failure(here)?.message == "-d “\(here)” cannot be read: it is a folder")
  }

  @Test func `a file can be read and is there, a folder is there, and what is missing is neither`() throws {
    let path = try folder.write("x", to: "f")
    #expect(InputFile.isReadable(path) && InputFile.isThere(path))
    #expect(!InputFile.isReadable(folder.file("none")) && !InputFile.isThere(folder.file("none")))
    #expect(!InputFile.isThere(""))
    #expect(InputFile.isThere(folder.path))
  }

  @Test func `a file keeps its name, and what a pipe holds has another`() throws {
    let path = try folder.write("x", to: "f")
    #expect(try InputFile.steadyPath(path, for: "--cacert") == path)
    #expect(try InputFile.steadyPath(folder.path, for: "--cacert") == folder.path)
    #expect(try InputFile.steadyPath(folder.file("none"), for: "--cacert") == folder.file("none"))
    let copy = try InputFile.steadyPath("/dev/null", for: "--cacert")
    #expect(copy.hasPrefix("/proc/self/fd/"))
    #expect(try InputFile.read(copy, for: "-d") == [])
  }

  @Test func `a file does not stay open`() throws {
    let path = try folder.write("x", to: "f")
    #expect(try InputFile.read(path, for: "-d") == [0x78])
    #expect(try openFiles(below: folder.path) == [])
  }
}
