internal import PlatformC

/// Messages for `errno` values, independent of the locale.
enum SystemError {
  /// The remedy for an error, if it does not depend on the file.
  static func remedy(_ number: Int32) -> String? {
    switch number {
    case EMFILE, ENFILE: "raise the limit (ulimit -n)"
    case EBUSY: "a mount point cannot be replaced: write > FILE"
    default: nil
    }
  }

  /// The message for `number`.
  static func text(_ number: Int32) -> String {
    switch number {
    case ENOENT: "no such file or folder"
    case EACCES, EPERM: "permission denied"
    case EISDIR: "it is a folder"
    case ENOTDIR: "a part of the path is not a folder"
    case ENOSPC: "no space left on the disk"
    case EDQUOT: "the disk quota is used up"
    case EROFS: "the file system is read-only"
    case EIO: "input/output error"
    case EFBIG: "the file would become too large"
    case ENAMETOOLONG: "the name is too long"
    case ELOOP: "too many symbolic links"
    case EBADF: "it is closed"
    case EMFILE, ENFILE: "too many open files"
    case ENXIO: "nobody reads from it"
    default: strerror(number).map { String(cString: $0) } ?? "error \(number)"
    }
  }
}
