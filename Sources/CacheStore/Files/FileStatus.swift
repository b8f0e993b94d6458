internal import PlatformC

/// The file a name refers to at the moment: two names with the same identity are one file.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64
}

/// The result of `lstat`, which does not follow symbolic links.
package struct FileStatus: Sendable {
  package enum Kind: Sendable { case file, folder, link, other }

  let identity: FileIdentity
  package let kind: Kind
  package let owner: UInt32
  let group: UInt32
  /// The number of hard links; 0 where the file was removed meanwhile, which the status of a path may show as well.
  let names: Int
  /// The permission bits.
  let mode: UInt32
  package let bytes: Int64

  /// `nil` where the name does not exist or cannot be read.
  package init?(path: String) {
    var status = stat()
    guard path.withCString({ lstat($0, &status) }) == 0 else { return nil }
    self.init(status)
  }

  /// The status of an open file.
  package init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: stat) {
    identity = FileIdentity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .link
      default: .other
      }
    owner = status.st_uid
    group = status.st_gid
    names = Int(status.st_nlink)
    mode = UInt32(status.st_mode & 0o7777)
    bytes = Int64(status.st_size)
  }

  /// Whether an untrusted user may add and rename files in this folder.
  package var isSharedFolder: Bool { kind == .folder && (mode & 0o022 != 0 || !hasTrustedOwner) }

  /// Whether the file has another name as well, which another user could have given to one of this user's files.
  package var hasOtherNames: Bool { names > 1 }

  /// Whether this is a file of another user, and this process the administrator's, which may look at it.
  package var isForeign: Bool { kind == .file && geteuid() == 0 && owner != 0 }

  /// Whether the file belongs to this user or to root.
  package var hasTrustedOwner: Bool { owner == geteuid() || owner == 0 }
}

/// The names in a folder, including `.` and `..`, in no order.
package enum FolderNames {
  /// Why a folder could not be read whole: the system's number.
  struct Unreadable: Error {
    let number: Int32
  }

  /// The names; none where the folder cannot be read whole.
  package static func all(in path: String) -> [String] { (try? read(in: path)) ?? [] }

  /// The names, or why they are not known.
  static func read(in path: String) throws(Unreadable) -> [String] {
    guard let folder = opendir(path) else { throw Unreadable(number: errno) }
    defer { closedir(folder) }
    var names: [String] = []
    while true {
      // The end of a folder and an error differ in this alone.
      errno = 0
      guard let entry = readdir(folder) else { break }
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) {
            String(cString: $0)
          }
        })
    }
    guard errno == 0 else { throw Unreadable(number: errno) }
    return names
  }
}
