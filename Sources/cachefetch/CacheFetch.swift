internal import CacheStore
internal import CPlatform
internal import Glibc

@main struct CacheFetch {
  static func main() {
    // A heap for each thread would keep what only passes through it: a long body passes through several.
    _ = cplatform_share_heap()
    ProcessStart.prepare()
    guard let words = Command.words() else {
      Diagnostics.fail(
        UsageError("the command line is not UTF-8", "put headers and bodies of other bytes in a file: @FILE"))
      _exit(ExitStatus.usage.rawValue)
    }
    SQLiteLibrary.forgoMemoryCounts()
    // Nothing is buffered here, and what libraries would still do at exit only takes time.
    _exit(Command.run(words).rawValue)
  }
}
