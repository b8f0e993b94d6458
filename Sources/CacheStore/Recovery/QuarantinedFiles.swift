internal import PlatformC

/// The names of quarantined files, and the move of a file to one of them.
struct QuarantinedFiles {
  /// The number of quarantined files kept; older ones are removed.
  static let kept = 2
  private static let mark = ".damaged-"
  /// The names of the log and the journal, which belong to a database whatever its name.
  private static let companions = ["-wal", "-journal"]

  let files: StoreFiles

  /// The quarantined files, oldest first.
  func all() -> [String] {
    FolderNames.all(in: files.folder)
      .filter { name in
        name.hasPrefix(files.name + Self.mark) && !Self.companions.contains(where: name.hasSuffix)
      }
      .map { files.folder == "/" ? "/" + $0 : files.folder + "/" + $0 }
      .sorted()
  }

  /// A dated name that is not taken: `store.sqlite.damaged-20260102T030405Z`.
  func freeName(at milliseconds: Int64) -> String {
    var seconds = time_t(milliseconds / 1000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let numbers = [
      Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour),
      Int(parts.tm_min),
      Int(parts.tm_sec),
    ].map { $0 < 10 ? "0\($0)" : "\($0)" }
    let date = numbers[..<3].joined() + "T" + numbers[3...].joined() + "Z"
    let base = files.database + Self.mark + date
    var name = base
    var number = 2
    while FileStatus(path: name) != nil {
      name = "\(base)-\(number)"
      number += 1
    }
    return name
  }

  /// Moves the damaged file with its log and journal to `name`, and the new file into its place.
  ///
  /// The damaged file is moved first. While nothing has the database's name, no process opens it, which would make a
  /// log for the damaged file that SQLite then takes for the new one's. If the process is killed in between, the next
  /// writer finds the new file at its own name (see `StoreFiles.repaired`).
  func exchange(for name: String) throws(CacheStoreError) {
    guard FileStatus(path: files.repaired) != nil else {
      throw CacheStoreError(
        .cannotOpen, "cannot repair \(files.database): \(files.repaired) was removed meanwhile",
        hint: "use it again: that begins another repair")
    }
    try move(files.database, to: name, mayBeMissing: false)
    try moveCompanions(to: name)
    try move(files.repaired, to: files.database, mayBeMissing: false)
  }

  /// Moves a repaired file into the place that is still empty after its process ended. The caller holds the lock under
  /// which databases are made.
  func finishExchange() throws(CacheStoreError) {
    guard try files.checkedStatus() == nil, let waiting = FileStatus(path: files.repaired) else { return }
    try files.check(opened: waiting, "the store", files.repaired)
    // The newest quarantined file is the one that process moved.
    if let moved = all().last {
      try moveCompanions(to: moved)
    } else {
      for path in Self.companions.map({ files.database + $0 }) + [files.sharedMemory] { unlink(path) }
    }
    try move(files.repaired, to: files.database, mayBeMissing: false)
  }

  private func moveCompanions(to name: String) throws(CacheStoreError) {
    for companion in Self.companions {
      try move(files.database + companion, to: name + companion, mayBeMissing: true)
    }
    unlink(files.sharedMemory)
  }

  /// Removes all but the newest.
  func prune() {
    for old in all().dropLast(Self.kept) { remove(old) }
  }

  private func remove(_ path: String) {
    for companion in [""] + Self.companions { unlink(path + companion) }
  }

  private func move(_ path: String, to name: String, mayBeMissing: Bool) throws(CacheStoreError) {
    guard rename(path, name) != 0, !(mayBeMissing && errno == ENOENT) else { return }
    throw CacheStoreError(.cannotOpen, "cannot move \(path) to \(name): \(Platform.describe(errno))")
  }
}
