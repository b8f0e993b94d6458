internal import Dispatch
internal import PlatformC

/// An inotify descriptor. Watches the contents of the store's folder, or of its nearest existing ancestor, and
/// every folder above for being moved or deleted.
// @unchecked: the mutable state is used on the source's queue only, once `init` has returned.
final class WatchedFiles: @unchecked Sendable {
  private let files: StoreFiles
  private let descriptor: Int32
  private let source: any DispatchSourceRead
  /// Whether the watched folder is the store's own, not an ancestor.
  private var isFolderWatched = false

  init?(_ files: StoreFiles, _ onChange: @escaping @Sendable () -> Void) {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    self.files = files
    self.descriptor = descriptor
    source = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "cachefetch.store.watch"))
    let isWatching = watch()
    source.setEventHandler { [weak self] in
      if self?.takeEvents() == true { onChange() }
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
    // A dispatch source must be resumed before it is released.
    guard isWatching else {
      source.cancel()
      return nil
    }
  }

  func end() { source.cancel() }

  private static let ofItself = IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR
  private static let ofContent = IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO

  /// - Returns: Whether the store's folder or an ancestor is watched.
  private func watch() -> Bool {
    // A folder may be created between two attempts, but not many times in a row.
    for _ in 0..<4 {
      var missing: String?
      var isAnyWatched = false
      var folder = files.folder
      while true {
        let mask = isAnyWatched ? Self.ofItself : Self.ofItself | Self.ofContent
        if inotify_add_watch(descriptor, folder, UInt32(bitPattern: Int32(mask))) >= 0 {
          isAnyWatched = true
        } else if !isAnyWatched {
          guard errno == ENOENT else { return false }
          missing = folder
        }
        guard folder != "/", folder != "." else { break }
        folder = StoreFiles(path: folder).folder
      }
      isFolderWatched = missing == nil
      guard let missing, isAnyWatched, FileStatus(path: missing) != nil else { return isAnyWatched }
    }
    return false
  }

  /// Whether one of the events concerns the store.
  private func takeEvents() -> Bool {
    var concerns = false
    var isElsewhere = false
    while let events = read() {
      for event in events {
        if event.name.isEmpty { isElsewhere = true }
        if !isFolderWatched || isOfStore(event.name) { concerns = true }
      }
    }
    if isElsewhere || !isFolderWatched {
      // Where the folder can no longer be watched, later changes go unreported until the observer reads the store
      // for another reason.
      _ = watch()
      concerns = true
    }
    return concerns
  }

  /// The database, its log and its journal. Not the log's index, which readers create too, nor the store's other
  /// small files.
  private func isOfStore(_ name: String) -> Bool {
    name.isEmpty || name == files.name || name == files.name + "-wal" || name == files.name + "-journal"
  }

  private struct Event { var name: String }

  /// The pending events; `nil` where there are none.
  private func read() -> [Event]? {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer -> [Event]? in
      let count = PlatformC.read(descriptor, buffer.baseAddress, buffer.count)
      guard count > 0 else { return nil }
      var events: [Event] = []
      var start = 0
      let head = MemoryLayout<inotify_event>.size
      while start + head <= count {
        let length = Int(buffer.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self))
        let end = min(count, start + head + length)
        let bytes = buffer[(start + head)..<end].prefix { $0 != 0 }
        events.append(Event(name: String(decoding: bytes, as: UTF8.self)))
        start = end
      }
      return events
    }
  }
}
