internal import CacheStore

/// Where the store is: `--store`, else `$CACHEFETCH_STORE`, else the user's cache folder.
enum StoreLocation {
  /// The path.
  static func path(_ arguments: Arguments) -> String {
    if let path = arguments.text(.store) { return path }
    if let path = Environment.value("CACHEFETCH_STORE"), !path.isEmpty { return path }
    return StoreConfiguration.defaultPath()
  }

  /// The store's configuration for a command line.
  static func configuration(_ arguments: Arguments) -> StoreConfiguration {
    StoreConfiguration(path: path(arguments))
  }
}
