internal import Dispatch
internal import PlatformC

/// Reports when the store's files change, appear, disappear or are replaced, by any process. Costs nothing while
/// nothing happens.
///
/// A commit writes the log before readers can see it, so an observer must look more than once.
package final class StoreWatch: Sendable {
  private let watched: WatchedFiles

  /// A watch that calls `onChange` on a queue of its own until it is released; `nil` where the system grants no more
  /// watches.
  init?(_ files: StoreFiles, _ onChange: @escaping @Sendable () -> Void) {
    guard let watched = WatchedFiles(files, onChange) else { return nil }
    self.watched = watched
  }

  deinit { watched.end() }
}

extension ResponseStore {
  /// Calls `onChange`, on the watch's own queue, whenever the store may have changed.
  package func watch(_ onChange: @escaping @Sendable () -> Void) -> StoreWatch? {
    StoreWatch(files, onChange)
  }
}

#if os(Linux) && !PORTABLE
  /// An inotify descriptor. Watches the contents of the store's folder, or of its nearest existing ancestor, and
  /// every folder above for being moved or deleted.
  // @unchecked: the mutable state is used on the source's queue only, once `init` has returned.
  private final class WatchedFiles: @unchecked Sendable {
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
#elseif canImport(Darwin)
  /// Vnode sources: on the store's folder, or its nearest existing ancestor, and on the log.
  ///
  /// Does not open the database itself: closing it again would drop SQLite's locks on it.
  // @unchecked: the mutable state is used on `queue` only.
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

    /// - Returns: Whether the store's folder or an ancestor is watched.
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

    /// A file appeared in the folder or disappeared, perhaps the log, or the folder itself did.
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
  /// No file watch on this system: observers poll.
  private final class WatchedFiles: Sendable {
    init?(_ files: StoreFiles, _ onChange: @escaping @Sendable () -> Void) { return nil }
    func end() {}
  }
#endif

/// A connection used only to detect commits of other connections.
///
/// `PRAGMA data_version` compares with what the same connection read before, so it needs a connection of its own.
struct VersionObserver {
  // @unchecked: only ever used inside the store's lock around the observer.
  private struct Watch: @unchecked Sendable { let connection: Connection }

  private var watch: Watch?
  /// The number of files seen so far, in the upper half of the version, so that a replaced file counts as a change.
  private var fileNumber: Int64 = 0
  private let isClosed: Bool

  init(isClosed: Bool = false) { self.isClosed = isClosed }

  mutating func version(of files: StoreFiles) throws(CacheStoreError) -> Int64 {
    guard !isClosed else { throw CacheStoreError(.closed, "the store was closed") }
    let status = try files.checkedStatus()
    if watch?.connection.identity != status?.identity {
      watch = nil
      fileNumber += 1
    }
    guard status != nil else { return fileNumber << 32 }
    let connection: Connection
    if let open = watch?.connection {
      connection = open
    } else {
      guard let new = try Connection.openToRead(files, waitingUntil: 0) else { return fileNumber << 32 }
      connection = new
      // A connection that reads without locks sees no change of the file.
      if new.purpose.isShared { watch = Watch(connection: new) }
    }
    let version = try connection.integer("PRAGMA data_version") ?? 0
    return fileNumber << 32 + version
  }
}
