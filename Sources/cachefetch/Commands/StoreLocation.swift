internal import CacheStore

/// Where the store is: `--store`, else `$CACHEFETCH_STORE`, else the user's cache folder.
enum StoreLocation {
  /// The path.
  static func path(_ arguments: Arguments) -> String {
    if let path = arguments.text(.store) { return path }
    if let path = Environment.value("CACHEFETCH_STORE"), !path.isEmpty { return path }
    return StoreConfiguration.defaultPath()
  }

  /// The store's configuration for a command line. A store that is named and only looked into is opened to be read: an
  /// exported copy stays as it is, and may be on a medium that cannot be written.
  static func configuration(_ arguments: Arguments) -> StoreConfiguration {
    var configuration = StoreConfiguration(path: path(arguments))
    configuration.isReadOnly = arguments.has(.store) && (arguments.has(.offline) || arguments.verb == .show)
    return configuration
  }
}
