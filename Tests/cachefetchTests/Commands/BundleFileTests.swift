import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: the file of export and import", .inTurn) struct BundleFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// The beginning of a database: what reads and writes it, and whose it is.
  private func head(reads: UInt8 = 1, writes: UInt8 = 1, mark: String = "CFCH") -> [UInt8] {
    var bytes = Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 56)
    (bytes[18], bytes[19]) = (writes, reads)
    bytes.replaceSubrange(68..<72, with: Array(mark.utf8))
    return bytes
  }

  /// Why a file must not be replaced by an export; `nil` if it may.
  private func refusal(_ path: String) -> String? {
    do throws(UsageError) {
      _ = try BundleFile.Target(path, exporting: folder.file("store.sqlite"), Diagnostics())
      return nil
    } catch {
      return error.line
    }
  }

  @Test func `an exported file may be replaced, and what is no database; another database may not`() throws {
    let mayBe: [[UInt8]] = [
      head(), head() + [7], Array(head(mark: "none").prefix(71)), Array("SQLite".utf8), [],
    ]
    for bytes in mayBe {
      let path = try folder.write(bytes, to: "f")
      #expect(refusal(path) == nil, "\(bytes)")
    }
    // One with a log has either of its versions say so.
    let mayNot: [[UInt8]] = [
      head(reads: 2), head(writes: 2), head(reads: 2, writes: 2), head(mark: "none"), head(mark: "CFCI"),
    ]
    for bytes in mayNot {
      let path = try folder.write(bytes, to: "f")
      #expect(refusal(path)?.contains("is a database and no exported file") == true, "\(bytes)")
    }
  }

  @Test(arguments: [("-wal", true), (".lock", true), ("-shm", false), (".key", false)])
  func `a store in use is told by what stands beside it`(part: String, isInUse: Bool) throws {
    let path = try folder.write(head(), to: "f")
    try folder.write("", to: "f" + part)
    #expect((refusal(path)?.contains("is a database and no exported file") == true) == isInUse)
  }

  @Test func `a file that cannot be imported is bad data`() throws {
    for (path, words) in [(folder.path, "is not a regular file"), (folder.file("none"), "cannot be read")] {
      do throws(UsageError) {
        _ = try BundleFile.Source(path, Diagnostics())
        Issue.record("taken: \(path)")
      } catch {
        #expect(error.status == .badData && error.line.contains(words), "\(error.line)")
      }
    }
  }

  @Test func `a file is named as it was given`() throws {
    let path = try folder.write(head(), to: "f")
    let source = try BundleFile.Source(path, Diagnostics())
    #expect(source.path == path && source.name == "“\(path)”")
    #expect(source.named(in: "\(path) is damaged") == "\(path) is damaged")
    // It is nobody's copy.
    source.clear()
    #expect(folder.contains("f"))
  }

  @Test func `what comes through standard input is named so, and no folder ends it for ever`() async throws {
    let shell = try Shell()
    let path = shell.file("other")
    try RawDatabase(path, create: true).execute(
      "CREATE TABLE t (x); PRAGMA application_id = 1128678216; PRAGMA user_version = 4")
    let bytes = try shell.store.folder.bytes(of: "other")
    let other = try await shell.run("import", "-", input: bytes)
    #expect(other.status == 65 && !other.errorText.contains("/bundle"), "\(other.errorText)")
    #expect(
      other.errorText.contains("is not a store as this release makes them"), "\(other.errorText)")
    let run = try await ChildProcess.run(
      "/bin/sh", ["-c", #"exec "$0" import - < ."#, BuiltProduct.cachefetch()],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(run.status == 74, "\(run.exit)")
    #expect(run.errorText.contains("standard input cannot be read: it is a folder"), "\(run.errorText)")
  }
}
