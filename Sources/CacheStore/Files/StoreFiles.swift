internal import PlatformC

/// The names of the store's files, and the checks before one is opened.
///
/// A folder that the store creates has mode 0700; its files have mode 0600. The store refuses a symbolic link in the
/// place of a file, and in a folder that other users may write to every file of another owner: with either, another
/// user could choose what this program reads or overwrites.
struct StoreFiles: Sendable {
  /// The database, as the caller named it.
  let database: String

  /// The SQLite VFS to use, for tests that inject faults.
  let vfs: String?

  /// Whether the files are untrusted.
  let isUntrusted: Bool

  /// Whether the administrator looks at another user's files.
  let isForeign: Bool

  init(path: String, vfs: String? = nil, isUntrusted: Bool = false, isForeign: Bool = false) {
    database = path
    self.vfs = vfs
    self.isUntrusted = isUntrusted
    self.isForeign = isForeign
  }

  var lock: String { database + ".lock" }
  var key: String { database + ".key" }
  var log: String { database + "-wal" }
  var sharedMemory: String { database + "-shm" }
  /// Counts not yet stored in the tables, and those being stored.
  var usageJournal: String { database + ".uses" }
  /// What an upstream of exchanges counts.
  var upstreamCounts: String { database + ".tier" }
  var takenUsageJournal: String { database + ".uses-taken" }
  /// Space that is released on a full disk; see ``Reserve``.
  var reserve: String { database + ".reserve" }
  /// A repaired file that will replace the damaged one.
  var repaired: String { database + ".repaired" }

  /// The store's folder.
  var folder: String {
    guard let slash = database.lastIndex(of: "/") else { return "." }
    return slash == database.startIndex ? "/" : String(database[..<slash])
  }

  /// The last part of the database's name.
  var name: String {
    guard let slash = database.lastIndex(of: "/") else { return database }
    return String(database[database.index(after: slash)...])
  }

  /// The database's path with the folder's symbolic links resolved, so that opening can refuse every link.
  func resolved() throws(CacheStoreError) -> String {
    guard let real = realpath(folder, nil) else {
      throw CacheStoreError(
        .cannotOpen, "cannot open the store \(database): its folder \(folder): \(Platform.describe(errno))")
    }
    defer { free(real) }
    // If the resolved name is not valid text, only the name as given leads to the folder.
    let path = String(validatingCString: real) ?? folder
    return path == "/" ? "/" + name : path + "/" + name
  }

  /// The database's status, or `nil` where there is none yet; throws where the name is that of something else.
  func checkedStatus() throws(CacheStoreError) -> FileStatus? {
    guard !database.isEmpty else {
      throw CacheStoreError(
        .cannotOpen,
        "no place for the store: there is no home folder",
        remedy: .nameStore)
    }
    // SQLite's name for no file at all; here it would be a file of that name in the working folder.
    guard database != ":memory:" else {
      throw CacheStoreError(
        .cannotOpen, "“:memory:” is not a file: a store outlives its process",
        hint: "name a file in a temporary folder, and remove the folder afterwards")
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

  /// What stands at the database's name.
  enum Presence {
    case there(FileStatus)
    /// A repair has moved the damaged file away and not yet the new one into its place, or its process ended there.
    case betweenRenames
    case missing
  }

  /// What stands at the database's name now; throws as ``checkedStatus()`` does.
  func presence() throws(CacheStoreError) -> Presence {
    if let status = try checkedStatus() { return .there(status) }
    if FileStatus(path: repaired) != nil { return .betweenRenames }
    // The repaired file may have been moved into place between these two looks.
    if let status = try checkedStatus() { return .there(status) }
    return .missing
  }

  /// Whether neither the database nor a repaired file exists.
  var isMissing: Bool {
    guard !database.isEmpty, FileStatus(path: database) == nil, errno == ENOENT || errno == ENOTDIR else {
      return false
    }
    return FileStatus(path: repaired) == nil && FileStatus(path: database) == nil
  }

  /// Why a store cannot be created here: the error of the folder or of its nearest existing ancestor; `nil` where it
  /// can be.
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

  /// Whether an untrusted user may put files beside the store's; follows a link to the folder.
  private var isFolderShared: Bool {
    guard let real = realpath(folder, nil) else { return false }
    defer { free(real) }
    return FileStatus(path: String(validatingCString: real) ?? folder + "/.")?.isSharedFolder == true
  }

  /// Whether a file's owner may have chosen what is read here.
  private func isTrusted(_ status: FileStatus, isShared: @autoclosure () -> Bool) -> Bool {
    status.hasTrustedOwner || geteuid() == 0 && (isForeign || !isShared())
  }

  /// Throws unless an open file beside the store can be trusted: a regular file, of a trusted owner, without a second
  /// name.
  func check(opened status: FileStatus?, _ what: String, _ path: String) throws(CacheStoreError) {
    let isShared = isFolderShared
    guard let status, status.kind == .file else {
      throw CacheStoreError(.cannotOpen, "\(what) \(path) is not a regular file", hint: "remove it")
    }
    guard isTrusted(status, isShared: isShared) else {
      throw CacheStoreError(
        .cannotOpen, "\(what) \(path) belongs to another user, which is refused", remedy: .ownFolder)
    }
    // Creating the key links it to a second name, which is removed at once.
    guard !status.hasOtherNames || status.names == 2 && path == key else {
      throw CacheStoreError(
        .cannotOpen, "\(what) \(path) is another file's second name, which is refused",
        remedy: isShared ? .ownFolder : "remove it")
    }
  }

  /// Throws unless the file may be opened: a regular file, no link, and in a shared folder of a trusted owner.
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
    guard isTrusted(status, isShared: isFolderShared) else {
      throw CacheStoreError(
        .cannotOpen, "the store \(path) belongs to another user, which is refused",
        remedy: .ownFile)
    }
    guard !status.hasOtherNames || !isFolderShared else {
      throw CacheStoreError(
        .cannotOpen, "the store \(path) is another file's second name, which is refused", remedy: .ownFolder
      )
    }
  }

  /// Checks the files that SQLite opens itself: it would follow a hard link, and block on a pipe.
  func checkCompanions() throws(CacheStoreError) {
    for path in [log, sharedMemory, database + "-journal"] {
      guard let status = FileStatus(path: path) else { continue }
      try check(status, of: path)
      guard !status.hasOtherNames else {
        throw CacheStoreError(
          .cannotOpen, "\(path) is another file's second name, which is refused",
          hint: "remove the other name")
      }
    }
  }

  /// Checks the opened files again where another user could have put them there meanwhile.
  func checkOpenedCompanions() throws(CacheStoreError) {
    if isFolderShared { try checkCompanions() }
  }

  /// Removes a leftover file before the store creates a new one of that name; throws where it cannot be removed.
  func removeLeftover(_ path: String) throws(CacheStoreError) {
    guard unlink(path) != 0, errno != ENOENT else { return }
    throw CacheStoreError(
      .cannotOpen, "\(path) is in the way and cannot be removed: \(Platform.describe(errno))",
      hint: "remove it, or name a store in a folder of your own")
  }

  /// Creates the folder and its ancestors with mode 0700; an existing folder stays as it is.
  func makeFolder() throws(CacheStoreError) {
    guard FileStatus(path: folder) == nil else { return }
    var end = folder.startIndex
    while end < folder.endIndex {
      end = folder[folder.index(after: end)...].firstIndex(of: "/") ?? folder.endIndex
      let part = String(folder[..<end])
      guard mkdir(part, 0o700) != 0 else { continue }
      // Saved before the look at the file, which sets `errno` too.
      let number = errno
      guard number != EEXIST, number != EISDIR, FileStatus(path: part) == nil else { continue }
      throw CacheStoreError(
        Self.reason(ofMaking: number),
        "cannot make the folder \(part) for the store \(database): \(Platform.describe(number))"
      )
    }
  }

  /// Creates an empty database file of mode 0600, unless there is one.
  ///
  /// SQLite would create it with 0644. The log and the shared memory inherit the database's mode.
  ///
  /// - Parameter isNew: Whether an existing file is refused.
  func makeDatabase(isNew: Bool = false) throws(CacheStoreError) {
    let descriptor = open(database, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor < 0 else {
      close(descriptor)
      return
    }
    let number = errno
    guard number != EEXIST || isNew else { return }
    throw CacheStoreError(
      Self.reason(ofMaking: number), "cannot make the store \(database): \(Platform.describe(number))")
  }

  /// Why no file or folder can be made, from the system's error number.
  static func reason(ofMaking number: Int32) -> CacheStoreError.Reason {
    switch number {
    case EROFS, EACCES, EPERM: .readOnly
    case ENOSPC, EDQUOT: .full
    default: .cannotOpen
    }
  }
}

extension StoreFiles {
  /// Whether files can be created beside the database.
  var isFolderWritable: Bool { access(folder, W_OK) == 0 }

  /// Whether the store can be written: in a folder that is not writable, an existing log may be.
  var isWritable: Bool {
    access(database, W_OK) == 0
      && (isFolderWritable || access(log, W_OK) == 0 && access(sharedMemory, W_OK) == 0)
  }
}
