internal import CacheStore

/// Where the store is: `--store`, else `$CACHEFETCH_STORE`, else the user's cache folder.
enum StoreLocation {
  /// The path.
  static func path(_ arguments: Arguments) -> String { named(arguments) ?? StoreConfiguration.commandPath() }

  /// The path, where an option or the environment names one.
  private static func named(_ arguments: Arguments) -> String? {
    if let path = arguments.text(.store) { return path }
    return Environment.value("CACHEFETCH_STORE").flatMap { $0.isEmpty ? nil : $0 }
  }

  /// What `-v` says of it.
  static func explained(_ arguments: Arguments) -> String {
    let reason =
      arguments.has(.store)
      ? "named by --store" : isNamed(arguments) ? "named by $CACHEFETCH_STORE" : "in the user's cache folder"
    return "store \(path(arguments)) (\(reason))"
  }

  /// Whether the option or the variable names it.
  static func isNamed(_ arguments: Arguments) -> Bool { named(arguments) != nil }

  /// That there is no store of that name.
  static func missing(_ arguments: Arguments) -> String {
    let path = TerminalText.visible(path(arguments))
    let remedy =
      if arguments.has(.store) { "name one that is there with --store" } else if isNamed(arguments) {
        "$CACHEFETCH_STORE names it: correct that, or fetch something first"
      } else { "fetch something first" }
    return "there is no store at \(path); \(remedy)"
  }

  /// The store's configuration for a command line. A store that is named and only looked into is opened to be read: an
  /// exported copy stays as it is, and may be on a medium that cannot be written. It may come from anywhere, too.
  static func configuration(_ arguments: Arguments) -> StoreConfiguration {
    var configuration = StoreConfiguration(path: path(arguments))
    configuration.isUntrusted = arguments.has(.store)
    configuration.isReadOnly = arguments.has(.store) && (arguments.has(.offline) || arguments.verb == .show)
    return configuration
  }
}
