internal import CTestSupport
import PlatformC

/// `posix_spawn` with the child's descriptors, signals and directory set.
enum Spawn {
  /// Starts a program with the given descriptors as 0, 1, 2 … and no others.
  static func start(
    _ executable: String, _ arguments: [String], environment: [String], directory: String?,
    descriptors: [Int32]
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Duplicate to high numbers first, then into place, since a given descriptor may itself have a low number.
    let high = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 64) }
    defer { for fd in high { close(fd) } }
    for (number, fd) in high.enumerated() { posix_spawn_file_actions_adddup2(&actions, fd, Int32(number)) }
    testsupport_close_from(&actions, Int32(descriptors.count))
    if let directory { testsupport_change_directory(&actions, directory) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    setSignals(&attributes)

    var pid: pid_t = 0
    let code = withPointers(to: [executable] + arguments) { argv in
      withPointers(to: environment) { envp in posix_spawn(&pid, executable, &actions, &attributes, argv, envp)
      }
    }
    guard code == 0 else { throw ChildProcess.NotStarted(executable: executable, code: code) }
    return pid
  }

  /// The test's own environment with some variables changed or, with `nil`, removed.
  static func environment(changing changes: [String: String?]) -> [String] {
    var kept: [String] = []
    var next = environ
    while let entry = next.pointee {
      let text = String(cString: entry)
      if changes[String(text.prefix { $0 != "=" })] == nil { kept.append(text) }
      next += 1
    }
    return kept + changes.compactMap { name, value in value.map { "\(name)=\($0)" } }
  }

  /// Unblocks all signals and restores the default actions that the test runner may have changed.
  private static func setSignals(_ attributes: inout posix_spawnattr_t) {
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigemptyset(&all)
    for signal in [SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2] { sigaddset(&all, signal) }
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
  }

  private static func withPointers<Result>(
    to strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    return copies.withUnsafeBufferPointer { buffer in
      // posix_spawn takes a mutable array but does not write to it.
      let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: buffer.count)
      defer { pointers.deallocate() }
      for (index, copy) in buffer.enumerated() { (pointers + index).initialize(to: copy) }
      return body(pointers)
    }
  }
}
