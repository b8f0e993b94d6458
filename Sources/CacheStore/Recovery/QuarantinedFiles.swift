#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The names of damaged files that are kept, and moving a file to one of them.
struct QuarantinedFiles {
  /// Damaged files kept; older ones are removed.
  static let kept = 2
  private static let mark = ".damaged-"

  let files: StoreFiles

  /// The files set aside, oldest first.
  func all() -> [String] {
    FolderNames.all(in: files.folder)
      .filter { $0.hasPrefix(files.name + Self.mark) && !$0.hasSuffix("-wal") }
      .map { files.folder == "/" ? "/" + $0 : files.folder + "/" + $0 }
      .sorted()
  }

  /// A dated name nobody has: `store.sqlite.damaged-20260102T030405Z`.
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

  /// Moves the damaged file and its log to `name` and puts the new file in its place.
  ///
  /// The log goes first: another file's log beside the new database would be taken for its own. Killed in between, the
  /// next process to write finds the new file waiting under its own name (see `StoreFiles.repaired`).
  func exchange(for name: String) throws(CacheStoreError) {
    try move(files.log, to: name + "-wal", mayBeMissing: true)
    unlink(files.sharedMemory)
    try move(files.database, to: name, mayBeMissing: false)
    try move(files.repaired, to: files.database, mayBeMissing: false)
  }

  /// Removes all but the newest.
  func prune() {
    for old in all().dropLast(Self.kept) { remove(old) }
  }

  private func remove(_ path: String) {
    unlink(path)
    unlink(path + "-wal")
  }

  private func move(_ path: String, to name: String, mayBeMissing: Bool) throws(CacheStoreError) {
    guard rename(path, name) != 0, !(mayBeMissing && errno == ENOENT) else { return }
    throw CacheStoreError(.cannotOpen, "cannot move \(path) to \(name): \(Platform.describe(errno))")
  }
}
