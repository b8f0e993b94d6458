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
      .background, .one, .staleOK, .print, .json, .include, .output, .fail, .failWithBody, .writeOut, .quiet,
      .showError, .verbose,
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

/// The order for the process of `--background`: its command line, and the contents of the files it names.
///
/// It is passed as bytes, because every user of the machine can read a process's arguments. The first process reads the
/// files: a pipe can be read only once, and standard input belongs to the command.
struct BackgroundOrder: Equatable {
  var words: [String] = []
  /// By path as written.
  var files: [String: [UInt8]] = [:]

  /// The encoded order: each part follows its length.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    Self.add(words.count, to: &bytes)
    for word in words { Self.add(Array(word.utf8), to: &bytes) }
    for (path, content) in files.sorted(by: { $0.key < $1.key }) {
      Self.add(Array(path.utf8), to: &bytes)
      Self.add(content, to: &bytes)
    }
    return bytes
  }

  init(words: [String] = [], files: [String: [UInt8]] = [:]) {
    self.words = words
    self.files = files
  }

  /// `nil` if the bytes are not an order.
  init?(_ bytes: [UInt8]) {
    var rest = bytes[...]
    guard let count = Self.takeNumber(&rest), count <= rest.count else { return nil }
    for _ in 0..<count {
      guard let word = Self.takePart(&rest) else { return nil }
      words.append(String(decoding: word, as: UTF8.self))
    }
    while !rest.isEmpty {
      guard let path = Self.takePart(&rest), let content = Self.takePart(&rest) else { return nil }
      files[String(decoding: path, as: UTF8.self)] = Array(content)
    }
  }

  private static func add(_ number: Int, to bytes: inout [UInt8]) {
    for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  private static func add(_ part: [UInt8], to bytes: inout [UInt8]) {
    add(part.count, to: &bytes)
    bytes += part
  }

  private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> Int? {
    guard rest.count >= 8 else { return nil }
    let number = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    rest = rest.dropFirst(8)
    return Int(exactly: number)
  }

  private static func takePart(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard let count = takeNumber(&rest), count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
