internal import CacheStore

/// The store's path: `--store`, else `$CACHEFETCH_STORE`, else a file in the user's cache folder.
enum StoreLocation {
  /// The path.
  static func path(_ arguments: Arguments) -> String { named(arguments) ?? StoreConfiguration.commandPath() }

  /// The path that an option or the environment names, if any.
  private static func named(_ arguments: Arguments) -> String? {
    let path =
      arguments.text(.store) ?? Environment.value("CACHEFETCH_STORE").flatMap { $0.isEmpty ? nil : $0 }
    // What no shell has read still has its `~`: systemd's units, .env files, a line that is being completed.
    guard let path, path.hasPrefix("~/"), let home = Environment.value("HOME") else { return path }
    return home + path.dropFirst()
  }

  /// The path and where it comes from, for `-v`.
  static func explained(_ arguments: Arguments) -> String {
    let reason =
      arguments.has(.store)
      ? "named by --store" : isNamed(arguments) ? "named by $CACHEFETCH_STORE" : "in the user's cache folder"
    return "store \(path(arguments)) (\(reason))"
  }

  /// Whether the option or the variable names it.
  static func isNamed(_ arguments: Arguments) -> Bool { named(arguments) != nil }

  /// What another command needs to use the same store: ` --store FILE` as a shell reads it where this process's command
  /// line has that option, else nothing, since a variable holds for the next command too.
  static let repeatedOption: String = {
    guard !ProcessStart.isBackground else { return "" }
    let words = (1..<max(1, ProcessStart.argumentCount)).compactMap {
      ProcessStart.argument($0).flatMap { String(validatingCString: $0) }
    }
    return (try? ArgumentParser.parse(words).text(.store)).map { " --store " + quoted($0) } ?? ""
  }()

  /// A word as a shell reads it: in quotation marks where it has more than letters, digits and what stands in paths.
  static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "-")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "+"), 0x80...:
        true
      default: false
      }
    }
    return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
  }

  /// The message that the named store does not exist.
  static func missing(_ arguments: Arguments) -> String {
    let path = TerminalText.visible(path(arguments))
    let remedy =
      if arguments.has(.store) { "name one that is there with --store" } else if isNamed(arguments) {
        "$CACHEFETCH_STORE names it: correct that, or fetch something first"
      } else { "fetch something first" }
    return "there is no store at \(path); \(remedy)"
  }

  /// The store's configuration for a command line. A store named by `--store` is untrusted, since the file may come
  /// from anywhere. If it is only inspected it is opened read-only: an exported copy stays unchanged, even a damaged
  /// one, and may be on a read-only medium. The verbs of ``inspecting`` still write to a store in use, whose latest
  /// counts stand beside it. So is another user's store that the administrator looks at, whatever names it.
  static func configuration(_ arguments: Arguments) -> StoreConfiguration {
    var configuration = StoreConfiguration(path: path(arguments))
    configuration.isForeign =
      looking.contains(VerbSet(arguments.verb)) && !arguments.has(.repair)
      && FileStatus(path: configuration.path)?.isForeign == true
    configuration.isUntrusted = arguments.has(.store) || configuration.isForeign
    let isInspected =
      arguments.isOffline || arguments.verb == .show
      || inspecting.contains(VerbSet(arguments.verb)) && isCopy(configuration.path)
    configuration.isReadOnly = arguments.has(.store) && isInspected || configuration.isForeign
    return configuration
  }

  /// Verbs that report on a store and change nothing in it.
  private static let inspecting: VerbSet = [.explain, .list, .stats, .report, .export]

  /// Verbs with which the administrator may look at another user's store.
  private static let looking: VerbSet = [.explain, .list, .stats, .show, .doctor]

  /// Whether no process has used the file as its store: nothing that a store in use has stands beside it. Opened for
  /// use, a damaged copy would be quarantined and an empty store would take its place.
  private static func isCopy(_ path: String) -> Bool {
    [".lock", ".uses", ".uses-taken"].allSatisfy { !InputFile.isThere(path + $0) }
  }
}
