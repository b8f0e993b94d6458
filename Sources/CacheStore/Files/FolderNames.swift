#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The names in a folder, `.` and `..` too; none where it cannot be read.
enum FolderNames {
  static func all(in path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) {
            String(cString: $0)
          }
        })
    }
    return names
  }
}
