package import CacheStore

extension StartMark {
  /// The mark of what begins at this instant.
  package static var now: StartMark {
    StartMark(boot: SystemClock.bootID, nanoseconds: SystemClock.bootNanoseconds)
  }
}
