/// What the portable build and Apple's systems have in place of inotify: nothing, so that observers poll.
final class WatchedFiles: Sendable {
  init?(_ files: StoreFiles, _ onChange: @escaping @Sendable () -> Void) { return nil }
  func end() {}
}
