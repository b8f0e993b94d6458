import PlatformC
import Testing
import TestTurns

@testable import cachefetch

@Suite("System: error numbers in words", .inTurn) struct SystemErrorTests {
  @Test(arguments: [
    (ENOENT, "no such file or folder"), (EACCES, "permission denied"), (EPERM, "permission denied"),
    (EISDIR, "it is a folder"), (ENOSPC, "no space left on the disk"), (EMFILE, "too many open files"),
    (ENFILE, "too many open files"), (E2BIG, "Argument list too long"),
  ]) func `each error number has its words`(number: Int32, words: String) {
    #expect(SystemError.text(number) == words)
  }

  @Test(arguments: [(EMFILE, true), (ENFILE, true), (ENOENT, false)])
  func `of those that a limit makes it is said`(number: Int32, hasRemedy: Bool) {
    #expect((SystemError.remedy(number) == "raise the limit (ulimit -n)") == hasRemedy)
  }
}
