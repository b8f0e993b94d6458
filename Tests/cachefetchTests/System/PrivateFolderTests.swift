import PlatformC
import Testing
import TestTurns

@testable import cachefetch

@Suite("System: a folder of one's own", .inTurn) struct PrivateFolderTests {
  @Test func `nobody else may enter it, and it goes with all that is in it`() throws {
    let folder = try PrivateFolder()
    var status = stat()
    #expect(stat(folder.path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    for name in ["a", ".b"] { close(open(folder.file(name), O_CREAT | O_WRONLY, 0o600)) }
    #expect(access(folder.path + "/.b", F_OK) == 0)
    folder.remove()
    #expect(access(folder.path, F_OK) != 0)
    // Once is enough.
    folder.remove()
  }
}
