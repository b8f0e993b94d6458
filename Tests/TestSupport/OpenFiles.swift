import PlatformC
import PlatformFoundation

/// The files below a folder that this process has open; the other tests' are in folders of their own.
public func openFiles(below folder: String) throws -> [String] {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
    var path = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/fd/\(name)", &path, path.count)
    guard length > 0 else { return nil }
    let file = String(decoding: path[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
    return file.hasPrefix(folder + "/") ? String(file.dropFirst(folder.count + 1)) : nil
  }
}
