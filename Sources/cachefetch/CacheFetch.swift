internal import CacheStore
internal import Glibc

@main struct CacheFetch {
  static func main() {
    guard let words = Command.words() else {
      Diagnostics.fail(
        UsageError("the command line is not UTF-8", "put fields and bodies of other bytes in a file: @FILE"))
      _exit(ExitStatus.usage.rawValue)
    }
    SQLiteLibrary.forgoMemoryCounts()
    // Nothing is buffered here, and what libraries would still do at exit only takes time.
    _exit(Command.run(words).rawValue)
  }
}
