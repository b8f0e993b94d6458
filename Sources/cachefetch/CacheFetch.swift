internal import CacheStore
internal import CPlatform

@main struct CacheFetch {
  static func main() {
    // With a heap for each thread, every thread that a long body passes through would retain memory for it.
    _ = cplatform_share_heap()
    ProcessStart.prepare()
    guard let words = Command.words() else {
      Diagnostics.fail(
        UsageError("the command line is not UTF-8", "put headers and bodies of other bytes in a file: @FILE"))
      ExitStatus.usage.endProcess()
    }
    SQLiteLibrary.forgoMemoryCounts()
    SQLiteLibrary.allocatePagesWhenRead()
    Command.run(words).endProcess()
  }
}
