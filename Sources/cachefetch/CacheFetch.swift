internal import CacheStore
internal import CPlatform
internal import PlatformC

@main struct CacheFetch {
  static func main() {
    // With a heap for each thread, every thread that a long body passes through would retain memory for it.
    _ = cplatform_share_heap()
    ProcessStart.prepare()
    guard let words = Command.words() else {
      Diagnostics.fail(
        UsageError("the command line is not UTF-8", "put headers and bodies of other bytes in a file: @FILE"))
      _exit(ExitStatus.usage.rawValue)
    }
    SQLiteLibrary.forgoMemoryCounts()
    // This process buffers no output, so the exit handlers of libraries would only take time.
    _exit(Command.run(words).rawValue)
  }
}
