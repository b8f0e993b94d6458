internal import Glibc

/// The process of `--background`: the same load without output, in a session of its own, so that it outlives the
/// terminal. Where another process already refreshes the same it ends at once, so that they never pile up.
enum Background {
  /// What such a process is called, which is how it knows what it is.
  static let name = "cachefetch-background"
  static let isThisProcess = CommandLine.arguments.first == name

  /// `POSIX_SPAWN_SETSID`, which glibc declares for GNU programs only.
  private static let newSession: Int16 = 0x80

  /// The command line of the refresh, without the program's name.
  static func words(_ arguments: Arguments) -> [String] {
    let dropped: Set<OptionName> = [.background, .print, .json, .include, .output, .fail, .quiet, .verbose]
    var words = ["get", "--print=none", "--quiet"]
    for option in arguments.options where !dropped.contains(option.name) {
      words.append("--" + option.name.rawValue + (option.text.map { "=" + $0 } ?? ""))
    }
    return words + ["--"] + arguments.operands
  }

  /// Starts it.
  /// - Throws: The system's error number.
  static func start(_ words: [String]) throws(OutputError) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor: Int32 in 0...2 {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for signal in [SIGINT, SIGTERM, SIGPIPE, SIGHUP] { sigaddset(&defaults, signal) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF) | newSession)
    var pointers = ([name] + words).map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, &pointers, environ)
    guard result == 0 else { throw .failed(result, path: "/proc/self/exe") }
  }
}
