import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("Where a store is that nobody has named", .inTurn) struct DefaultPathTests {
  @Test func `a program has its own, told by the name of its executable file`() throws {
    let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let name = try #require(executable.split(separator: "/").last)
    #expect(StoreConfiguration.defaultPath().hasSuffix("/\(name)/cachefetch/store.sqlite"))
    #expect(StoreConfiguration.commandPath().hasSuffix("/cachefetch/store.sqlite"))
    #expect(StoreConfiguration.commandPath() != StoreConfiguration.defaultPath())
  }

  @Test(
    "the name of an executable file is one folder's name",
    arguments: [
      ("/usr/bin/reader", "reader"), ("reader", "reader"), ("/opt/a b/reader 2", "reader 2"),
      ("/usr/bin/reader (deleted)", "reader"), ("", "program"), ("/", "program"), ("/opt/..", "program"),
      ("/opt/.", "program"),
    ])
  func name(path: String, name: String) {
    #expect(Platform.programName(executable: path) == name)
  }
}
