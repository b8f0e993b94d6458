internal import CPlatform
internal import PlatformC

/// A file in memory, for bytes that another program reads but that must not reach a disk.
enum MemoryFile {
  /// A descriptor at the beginning of the bytes; the caller closes it.
  static func holding(_ bytes: [UInt8]) throws(OutputError) -> Int32 {
    let descriptor = cplatform_memory_file("cachefetch")
    guard descriptor >= 0 else { throw .failed(errno, path: "a file in memory") }
    do throws(OutputError) {
      try OutputDescriptor(number: descriptor).write(bytes)
      lseek(descriptor, 0, SEEK_SET)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }
}

/// A private folder (mode 0700) for the file that stands in for a standard stream.
struct PrivateFolder {
  let path: String

  /// Where temporary files go.
  static var parent: String { Environment.value("TMPDIR").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp" }

  init() throws(OutputError) {
    let parent = Self.parent
    var name = Array("\(parent)/cachefetch-XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { throw .failed(errno, path: parent) }
    path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The path of a file in it.
  func file(_ name: String) -> String { path + "/" + name }

  /// Removes the folder and the files in it.
  func remove() {
    if let folder = opendir(path) {
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { unlink(file(name)) }
      }
      closedir(folder)
    }
    rmdir(path)
  }
}
