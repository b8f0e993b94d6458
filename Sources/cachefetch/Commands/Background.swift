internal import CPlatform
internal import PlatformC

/// The process of `--background`: the same load without output, in its own session, so that it outlives the terminal.
/// If another process is already refreshing the same URL, it ends at once, so that processes do not pile up.
enum Background {
  /// `POSIX_SPAWN_SETSID`, which glibc declares for GNU programs only.
  private static let newSession: Int16 = 0x80

  /// The command line of the refresh, without the program's name.
  static func words(_ arguments: Arguments) -> [String] {
    let dropped: Set<OptionName> = [
      .background, .print, .json, .include, .output, .fail, .failWithBody, .writeOut, .quiet, .verbose,
    ]
    var words = ["get", "--print=none", "--quiet"]
    for option in arguments.options where !dropped.contains(option.name) {
      words.append("--" + option.name.rawValue + (option.text.map { "=" + $0 } ?? ""))
    }
    return words + ["--"] + arguments.operands
  }

  /// Starts the process. Its standard input is its order, a file in memory. It inherits no other descriptor, so that it
  /// does not hold a script's lock (`flock`) for as long as the refresh takes.
  static func start(_ order: BackgroundOrder) throws(OutputError) {
    let input = try MemoryFile.holding(order.bytes)
    defer { close(input) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    _ = cplatform_close_from(&actions, STDERR_FILENO + 1)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for signal in [SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGHUP] { sigaddset(&defaults, signal) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF) | newSession)
    var pointers = [strdup(ProcessStart.backgroundName), nil]
    defer { for pointer in pointers { free(pointer) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, &pointers, environ)
    guard result == 0 else { throw .failed(result, path: "/proc/self/exe") }
  }

  /// The message for a process that could not be started, by the system's error number and the path.
  static func complaint(_ number: Int32, _ path: String?) -> String {
    let what = path.map { "“\($0)”: " } ?? ""
    return Diagnostics.joined(
      "the refresh could not be started: \(what)\(SystemError.text(number))", SystemError.remedy(number))
  }

  /// In the background process: the command line from the order on standard input, which is then replaced by
  /// `/dev/null`; `nil` without an order.
  static func receivedWords() -> [String]? {
    guard let bytes = try? InputFile.read("-", for: "the order"), let order = BackgroundOrder(bytes) else {
      return nil
    }
    let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
    if nothing >= 0 {
      dup2(nothing, STDIN_FILENO)
      close(nothing)
    }
    InputFile.recall(order.files)
    return order.words
  }
}
