internal import PlatformC

/// The names of the store's files, and what must be true of them before one is opened.
///
/// The store lives in a folder of its own where it makes the folder itself (mode 0700); the files have mode 0600.
/// A symbolic link in the place of a file, and in a folder that others may write to any file of another owner, are
/// refused: both are ways to make this program read or overwrite what somebody else chose.
struct StoreFiles: Sendable {
  /// The database, as the caller named it.
  let database: String

  /// The SQLite file system layer to use, for tests that inject faults.
  let vfs: String?

  /// Whether somebody else may have made them.
  let isUntrusted: Bool

  init(path: String, vfs: String? = nil, isUntrusted: Bool = false) {
    database = path
    self.vfs = vfs
    self.isUntrusted = isUntrusted
  }

  var lock: String { database + ".lock" }
  var key: String { database + ".key" }
  var log: String { database + "-wal" }
  var sharedMemory: String { database + "-shm" }
  /// Counts that wait to be stored in the tables, and those that are being stored.
  var usageJournal: String { database + ".uses" }
  var takenUsageJournal: String { database + ".uses-taken" }
  /// Room that is given up where the disk has none; see ``Reserve``.
  var reserve: String { database + ".reserve" }
  /// A repaired file that waits to take the damaged one's place.
  var repaired: String { database + ".mended" }

  /// The folder the store lies in.
  var folder: String {
    guard let slash = database.lastIndex(of: "/") else { return "." }
    return slash == database.startIndex ? "/" : String(database[..<slash])
  }

  /// The last part of the database's name.
  var name: String {
    guard let slash = database.lastIndex(of: "/") else { return database }
    return String(database[database.index(after: slash)...])
  }

  /// The database's name with every symbolic link of the folder's resolved, so that opening may refuse links outright.
  func resolved() throws(CacheStoreError) -> String {
    guard let real = realpath(folder, nil) else {
      throw CacheStoreError(
        .cannotOpen, "cannot open the store \(database): its folder \(folder): \(Platform.describe(errno))")
    }
    defer { free(real) }
    let path = String(cString: real)
    return path == "/" ? "/" + name : path + "/" + name
  }

  /// The database's status, or `nil` where there is none yet; throws where something else stands in its place.
  func checkedStatus() throws(CacheStoreError) -> FileStatus? {
    guard !database.isEmpty else {
      throw CacheStoreError(
        .cannotOpen,
        "no place for the store: there is no home folder",
        remedy: .nameStore)
    }
    guard let status = FileStatus(path: database) else {
      guard errno == ENOENT else {
        throw CacheStoreError(.cannotOpen, "cannot open the store \(database): \(Platform.describe(errno))")
      }
      return nil
    }
    try check(status, of: database)
    return status
  }

  /// Whether nothing stands in the database's place, and nothing waits to.
  var isMissing: Bool {
    guard !database.isEmpty, FileStatus(path: database) == nil, errno == ENOENT || errno == ENOTDIR else {
      return false
    }
    return FileStatus(path: repaired) == nil
  }

  /// Why a store cannot be made here: what is wrong with the folder, or with the nearest one that is there; `nil` where
  /// it can be.
  func obstacle() -> String? {
    var folder = folder
    while access(folder, W_OK | X_OK) != 0 {
      let number = errno
      guard number == ENOENT, folder != "/", folder != "." else {
        return "cannot make a store at \(database): \(folder): \(Platform.describe(number))"
      }
      folder = StoreFiles(path: folder).folder
    }
    return nil
  }

  /// Whether somebody not to be trusted may put files beside the store's; a link to a folder counts as what it leads to.
  private var isFolderShared: Bool {
    guard let real = realpath(folder, nil) else { return false }
    defer { free(real) }
    return FileStatus(path: String(cString: real))?.isSharedFolder == true
  }

  /// Throws unless an open file beside the store is one to trust: a file, of an owner to trust, and of no other name
  /// that somebody may have given to a file of this user's.
  func check(opened status: FileStatus?, _ what: String, _ path: String) throws(CacheStoreError) {
    let isShared = isFolderShared
    guard let status, status.kind == .file else {
      throw CacheStoreError(.cannotOpen, "\(what) \(path) is not a regular file", hint: "remove it")
    }
    guard status.hasTrustedOwner || geteuid() == 0 && !isShared else {
      throw CacheStoreError(
        .cannotOpen, "\(what) \(path) belongs to another user, which is refused", remedy: .ownFolder)
    }
    // Making the key links it from another name, which goes at once.
    guard status.names == 1 || status.names == 2 && path == key else {
      throw CacheStoreError(
        .cannotOpen, "\(what) \(path) is another file's second name, which is refused",
        remedy: isShared ? .ownFolder : "remove it")
    }
  }

  /// Throws unless the file is one to open: a file, no link, and in a shared folder of an owner to trust.
  func check(_ status: FileStatus, of path: String) throws(CacheStoreError) {
    switch status.kind {
    case .file: break
    case .folder:
      throw CacheStoreError(
        .cannotOpen, "the store \(path) is a folder",
        hint: "name a file in it, such as \(path)/store.sqlite")
    case .link:
      throw CacheStoreError(
        .cannotOpen, "the store \(path) is a symbolic link, which is refused", hint: "name its target")
    case .other:
      throw CacheStoreError(
        .cannotOpen, "the store \(path) is not a regular file", remedy: .regularFile)
    }
    guard status.hasTrustedOwner || geteuid() == 0 && !isFolderShared else {
      throw CacheStoreError(
        .cannotOpen, "the store \(path) belongs to another user, which is refused",
        remedy: .ownFile)
    }
    guard status.names == 1 || !isFolderShared else {
      throw CacheStoreError(
        .cannotOpen, "the store \(path) is another file's second name, which is refused", remedy: .ownFolder
      )
    }
  }

  /// Checks the files that SQLite opens by itself: it would follow a second name, and wait for a pipe.
  func checkCompanions() throws(CacheStoreError) {
    for path in [log, sharedMemory, database + "-journal"] {
      guard let status = FileStatus(path: path) else { continue }
      try check(status, of: path)
      guard status.names == 1 else {
        throw CacheStoreError(
          .cannotOpen, "\(path) is another file's second name, which is refused",
          hint: "remove the other name")
      }
    }
  }

  /// Checks them once more now that they are open, where somebody else might have put them there meanwhile.
  func checkOpenedCompanions() throws(CacheStoreError) {
    if isFolderShared { try checkCompanions() }
  }

  /// Makes room for a file of this store's own that is made anew: removes what was left of an earlier one, and throws
  /// where that is somebody else's.
  func removeLeftover(_ path: String) throws(CacheStoreError) {
    guard unlink(path) != 0, errno != ENOENT else { return }
    throw CacheStoreError(
      .cannotOpen, "\(path) is in the way and cannot be removed: \(Platform.describe(errno))",
      hint: "remove it, or name a store in a folder of your own")
  }

  /// Makes the folder, with those above it, mode 0700; one that is there stays as it is.
  func makeFolder() throws(CacheStoreError) {
    guard FileStatus(path: folder) == nil else { return }
    var end = folder.startIndex
    while end < folder.endIndex {
      end = folder[folder.index(after: end)...].firstIndex(of: "/") ?? folder.endIndex
      let part = String(folder[..<end])
      guard mkdir(part, 0o700) != 0 else { continue }
      // Before it is looked whether it is there, which sets another.
      let number = errno
      guard number != EEXIST, number != EISDIR, FileStatus(path: part) == nil else { continue }
      throw CacheStoreError(
        number == EROFS || number == EACCES || number == EPERM ? .readOnly : .cannotOpen,
        "cannot make the folder \(part) for the store \(database): \(Platform.describe(number))"
      )
    }
  }

  /// Makes an empty database file of mode 0600, unless there is one.
  ///
  /// SQLite would give it 0644; the log and the shared memory then take over the database's mode.
  ///
  /// - Parameter isNew: Whether one that is there already is somebody else's, and refused.
  func makeDatabase(isNew: Bool = false) throws(CacheStoreError) {
    let descriptor = open(database, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor < 0 else {
      close(descriptor)
      return
    }
    let number = errno
    guard number != EEXIST || isNew else { return }
    throw CacheStoreError(
      number == EROFS || number == EACCES
        ? .readOnly : number == ENOSPC || number == EDQUOT ? .full : .cannotOpen,
      "cannot make the store \(database): \(Platform.describe(number))")
  }
}

extension StoreFiles {
  /// Whether files can be made beside the database.
  var isFolderWritable: Bool { access(folder, W_OK) == 0 }

  /// Whether the store as a whole can be written: a log that is there may be written in a folder that may not.
  var isWritable: Bool {
    access(database, W_OK) == 0
      && (isFolderWritable || access(log, W_OK) == 0 && access(sharedMemory, W_OK) == 0)
  }
}
