internal import PlatformC

/// `STORE.reserve`: allocated disk space that is released on a full disk, so that something can be removed.
///
/// A removal itself needs space: it is appended to the log, and the checkpoint that empties the log may extend the
/// database. Other programs that fill the disk leave no space for that.
struct Reserve {
  /// The space of a log that is checkpointed at each megabyte, and of a removal, in bytes.
  static let bytes: Int64 = 1 << 20
  /// The free space required beside the reserve to create one: more than the store always leaves free.
  private static let leastFree: Int64 = 4 << 20

  let files: StoreFiles

  /// Creates the reserve where there is none and enough space. The store works without it while the disk has space.
  ///
  /// A process killed between the two steps leaves an empty file, which is then allocated.
  func make() {
    guard FileStatus(path: files.reserve)?.bytes ?? 0 == 0,
      Platform.freeBytes(at: files.database).map({ $0 >= Self.bytes + Self.leastFree }) ?? false
    else { return }
    let file = open(files.reserve, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    // Checked again on the open file, which no one can replace.
    guard let status = FileStatus(descriptor: file), status.kind == .file, status.bytes == 0,
      !status.hasOtherNames
    else { return }
    if !allocate(Self.bytes, in: file) { unlink(files.reserve) }
  }

  /// Releases the reserve's space. Leaves any other file of that name alone.
  func release() {
    guard let status = FileStatus(path: files.reserve), status.kind == .file, status.bytes == Self.bytes
    else {
      return
    }
    unlink(files.reserve)
  }
}
