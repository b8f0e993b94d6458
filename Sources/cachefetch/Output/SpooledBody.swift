internal import DataService
internal import PlatformC
internal import PlatformFoundation

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
