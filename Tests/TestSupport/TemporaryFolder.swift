import PlatformC
import PlatformFoundation

/// A fresh folder; `deinit` removes it with its contents.
public final class TemporaryFolder: Sendable {
  /// A failure to make the folder.
  public struct Failed: Error {
    /// The `errno` of `mkdtemp`.
    public let code: Int32
  }

  /// The folder's absolute path, without a slash at its end.
  public let path: String

  /// Makes a folder under `TMPDIR`, else `/tmp`.
  public convenience init() throws {
    try self.init(under: getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")
  }

  /// Makes a folder that is not below `/dev`, as `TMPDIR` may be: then below `/tmp`, in one of the same name, which
  /// `run_tests` removes.
  public static func outsideOfDevices() throws -> TemporaryFolder {
    var base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    if base.hasPrefix("/dev/"), let name = base.split(separator: "/").last {
      base = "/tmp/\(name)"
      mkdir(base, 0o700)
    }
    return try TemporaryFolder(under: base)
  }

  private init(under base: String) throws {
    var template = Array("\(base)/cachefetch-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failed(code: errno) }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    // A test may have removed the permissions that removal needs.
    chmod(path, 0o700)
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a file in the folder; nothing is created.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and returns its path.
  @discardableResult public func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
    let path = file(name)
    try Data(bytes).write(to: URL(filePath: path))
    return path
  }

  /// Writes a text file and returns its path.
  @discardableResult public func write(_ text: String, to name: String) throws -> String {
    try write(Array(text.utf8), to: name)
  }

  /// The bytes of a file in the folder.
  public func bytes(of name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: file(name))))
  }

  /// A file in the folder as text.
  public func text(of name: String) throws -> String { String(decoding: try bytes(of: name), as: UTF8.self) }

  /// Whether a file of that name is there.
  public func contains(_ name: String) -> Bool { access(file(name), F_OK) == 0 }

  /// The names in the folder, sorted.
  public func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }
}
