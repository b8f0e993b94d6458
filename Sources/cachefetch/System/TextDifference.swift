internal import CPlatform
internal import PlatformC

/// Compares two texts with diffutils' `diff`, whose output is well known.
enum TextDifference {
  /// The unified diff; `nil` if `diff` cannot be run.
  ///
  /// The texts are passed as files in memory: they may be private and must not reach a disk.
  static func unified(_ texts: [[UInt8]], labels: [String]) throws(OutputError) -> [UInt8]? {
    var files: [Int32] = []
    defer { for file in files { close(file) } }
    for text in texts { files.append(try MemoryFile.holding(text)) }
    var pipe: [Int32] = [-1, -1]
    guard PlatformC.pipe(&pipe) == 0 else { throw .failed(errno, path: "a pipe") }
    for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let words = [
      "diff", "-u", "--label", labels[0], "--label", labels[1], "/dev/fd/\(files[0])",
      "/dev/fd/\(files[1])",
    ]
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO)
    // `adddup2` of a descriptor onto itself clears close-on-exec, so the child inherits it under the same number.
    for file in files { posix_spawn_file_actions_adddup2(&actions, file, file) }
    var pointers = words.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var process: pid_t = 0
    let result = posix_spawnp(&process, "diff", &actions, nil, &pointers, environ)
    close(pipe[1])
    defer { close(pipe[0]) }
    guard result == 0 else { return nil }
    let output = readToEnd(pipe[0])
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    // 1 means that the texts differ; above 1 `diff` itself failed.
    return status & 0x7F == 0 && (status >> 8) & 0xFF <= 1 ? output : nil
  }

  private static func readToEnd(_ descriptor: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count > 0 { bytes += buffer[..<count] } else if count == 0 || errno != EINTR { return bytes }
    }
  }
}
