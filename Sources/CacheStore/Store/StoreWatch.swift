internal import Dispatch

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Tells when the store's files change, come, go or are replaced, whichever process does it. It costs nothing while
/// nothing happens.
///
/// A commit is written to the log first, and can be seen a moment later: who is told has to look more than once.
package final class StoreWatch: Sendable {
  private let watched: WatchedFiles

  /// A watch that calls `onChange` on a queue of its own until it is dropped; `nil` where the system has no more of them.
  init?(_ files: StoreFiles, _ onChange: @escaping @Sendable () -> Void) {
    guard let watched = WatchedFiles(files, onChange) else { return nil }
    self.watched = watched
  }

  deinit { watched.end() }
}

extension ResponseStore {
  /// Has `onChange` called, on a queue of the watch's own, whenever the store may have changed.
  package func watch(_ onChange: @escaping @Sendable () -> Void) -> StoreWatch? {
    StoreWatch(files, onChange)
  }
}

#if os(Linux)
  /// An inotify descriptor: on the store's folder, or the nearest one above it that is there, and on those above that for
  /// being moved away.
  // @unchecked: what changes is used on `queue` only, once `init` is over.
  private final class WatchedFiles: @unchecked Sendable {
    private let files: StoreFiles
    private let descriptor: Int32
    private let source: any DispatchSourceRead
    /// Whether the store's own folder is watched, and not one above it.
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
      // A source must have been resumed before it is dropped.
      guard isWatching else {
        source.cancel()
        return nil
      }
    }

    func end() { source.cancel() }

    private static let ofItself = IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR
    private static let ofContent = IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO

    /// - Returns: Whether the store's folder, or one above it, is watched.
    private func watch() -> Bool {
      // A folder may be made between two looks; not many times in a row.
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
        isFolderWatched = missing == nil && isAnyWatched
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
        // Where it cannot be watched any more, what comes is not seen until something of the store is looked at again.
        _ = watch()
        concerns = true
      }
      return concerns
    }

    /// The database itself, its log, its journal; not the log's index, which whoever reads may make, nor the small files that
    /// stand beside it for other reasons.
    private func isOfStore(_ name: String) -> Bool {
      name.isEmpty || name == files.name || name == files.name + "-wal" || name == files.name + "-journal"
    }

    private struct Event { var name: String }

    /// The events that are there; `nil` where there is none.
    private func read() -> [Event]? {
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer -> [Event]? in
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
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
#elseif canImport(Darwin)
  /// Vnode sources: on the store's folder, or the nearest one above it that is there, and on the log.
  ///
  /// The database itself is not opened: closing it again would drop the locks that SQLite has on it.
  // @unchecked: what changes is used on `queue` only.
  private final class WatchedFiles: @unchecked Sendable {
    private let files: StoreFiles
    private let onChange: @Sendable () -> Void
    private let queue = DispatchQueue(label: "cachefetch.store.watch")
    private var sources: [any DispatchSourceFileSystemObject] = []

    init?(_ files: StoreFiles, _ onChange: @escaping @Sendable () -> Void) {
      self.files = files
      self.onChange = onChange
      let isWatching = queue.sync { self.watch() }
      guard isWatching else { return nil }
    }

    func end() { queue.async { self.stop() } }

    private func stop() {
      for source in sources { source.cancel() }
      sources = []
    }

    /// - Returns: Whether the store's folder, or one above it, is watched.
    private func watch() -> Bool {
      stop()
      var folder = files.folder
      while FileStatus(path: folder) == nil, folder != "/", folder != "." {
        folder = StoreFiles(path: folder).folder
      }
      add(folder, [.write, .delete, .rename, .revoke]) { [weak self] in self?.folderChanged() }
      let isWatching = !sources.isEmpty
      add(files.log, [.write, .extend, .delete, .rename, .revoke]) { [weak self] in self?.onChange() }
      return isWatching
    }

    /// Something in the folder came or went, the log perhaps, or the folder itself.
    private func folderChanged() {
      _ = watch()
      onChange()
    }

    private func add(
      _ path: String, _ events: DispatchSource.FileSystemEvent, _ handler: @escaping @Sendable () -> Void
    ) {
      let file = open(path, O_EVTONLY | O_CLOEXEC)
      guard file >= 0 else { return }
      let source = DispatchSource.makeFileSystemObjectSource(
        fileDescriptor: file, eventMask: events, queue: queue)
      source.setEventHandler(handler: handler)
      source.setCancelHandler { close(file) }
      source.resume()
      sources.append(source)
    }
  }
#else
  /// None: who observes asks again and again.
  private final class WatchedFiles: Sendable {
    init?(_ files: StoreFiles, _ onChange: @escaping @Sendable () -> Void) { return nil }
    func end() {}
  }
#endif
