internal import CPlatform
internal import DataService
internal import PlatformC
internal import PlatformFoundation

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

/// A body that arrives, collected in a file without a name before any of it is used.
enum SpooledBody {
  /// The whole body, mapped from the file.
  static func collected(_ stream: DataService.BodyStream) throws(BodyError) -> Data {
    let folder = PrivateFolder.parent
    var name = Array("\(folder)/cachefetch-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    guard descriptor >= 0 else { throw .output(.failed(errno, path: folder)) }
    defer { close(descriptor) }
    unlink(name)
    let file = OutputDescriptor(number: descriptor)
    var count = 0
    try BodyPieces(stream: stream).forEach { piece throws(OutputError) in
      try file.write(piece)
      count += piece.count
    }
    guard count > 0 else { return Data() }
    guard let bytes = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), bytes != MAP_FAILED else {
      throw .output(.failed(errno, path: folder))
    }
    return Data(bytesNoCopy: bytes, count: count, deallocator: .custom { munmap($0, $1) })
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
