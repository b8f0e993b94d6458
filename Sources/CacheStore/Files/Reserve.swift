internal import PlatformC

/// `STORE.reserve`: room on the disk that is given up where there is none left, so that something can be removed.
///
/// Removing needs room itself: it is appended to the log, and a log is emptied by writing it back into the database,
/// which that may make longer. Another program that fills the disk leaves none for it.
struct Reserve {
  /// What a log that is written back at each megabyte, and a removal, take.
  static let bytes: Int64 = 1 << 20
  /// What the disk has left where a reserve is made, besides: more than what the store leaves free.
  private static let leastFree: Int64 = 4 << 20

  let files: StoreFiles

  /// Makes it, where there is none and room enough. Without it the store works as well, for as long as there is room.
  func make() {
    guard FileStatus(path: files.reserve) == nil,
      Platform.freeBytes(at: files.database).map({ $0 >= Self.bytes + Self.leastFree }) ?? false
    else { return }
    let file = open(files.reserve, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    if !Platform.allocate(Self.bytes, in: file) { unlink(files.reserve) }
  }

  /// Gives its room back to the disk. What else may stand in its place is left alone.
  func release() {
    guard let status = FileStatus(path: files.reserve), status.kind == .file, status.bytes == Self.bytes
    else {
      return
    }
    unlink(files.reserve)
  }
}
