import PlatformC

/// Finds the built programs that the tests run.
public enum BuiltProduct {
  /// The product has not been built with the tests.
  public struct Missing: Error, CustomStringConvertible {
    /// The path where it was expected.
    public let path: String
    /// What to do about it.
    public var description: String { "\(path) is missing: build it first (swift build --build-tests)" }
  }

  /// The `cachefetch` program.
  public static func cachefetch() throws -> String { try path("cachefetch") }

  /// The `demo-origin` program.
  public static func demoOrigin() throws -> String { try path("demo-origin") }

  /// A product by name. `CACHEFETCH_PRODUCTS` names another folder, such as that of a release build.
  public static func path(_ name: String) throws -> String {
    let folder = getenv("CACHEFETCH_PRODUCTS").map { String(cString: $0) } ?? folder
    let path = "\(folder)/\(name)"
    guard access(path, X_OK) == 0 else { throw Missing(path: path) }
    return path
  }

  private static var folder: String {
    parent(of: programIdentifier() ?? "")
  }

  private static func parent(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }
}
