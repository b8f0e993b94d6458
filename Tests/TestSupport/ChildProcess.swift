internal import CTestSupport
import FixtureServer
import PlatformC
import Synchronization

/// A program run by a test. Its output is captured as it arrives.
///
/// Built on `posix_spawn`: Foundation's `Process` can crash on Linux when several run at once. `deinit` kills a child
/// that is still running.
public final class ChildProcess: Sendable {
  /// How a process ended.
  public enum Exit: Sendable, Hashable {
    case status(Int32)
    case signal(Int32)
  }

  /// A process that has ended, with all its output.
  public struct Finished: Sendable {
    /// How it ended.
    public let exit: Exit
    /// Standard output.
    public let output: [UInt8]
    /// Standard error.
    public let errors: [UInt8]
    /// The most memory it held at once (resident set size).
    public let peakMemoryBytes: Int
    /// Standard output as text.
    public var outputText: String { String(decoding: output, as: UTF8.self) }
    /// Standard error as text.
    public var errorText: String { String(decoding: errors, as: UTF8.self) }
  }

  /// A program that could not be started.
  public struct NotStarted: Error, CustomStringConvertible {
    /// The program's path.
    public let executable: String
    /// The `errno`.
    public let code: Int32
    /// Both in words.
    public var description: String { "\(executable): \(String(cString: strerror(code)))" }
  }

  /// Where one of the child's streams is connected.
  public enum Stream: Sendable {
    /// A pipe that the test reads.
    case captured
    /// A pseudo-terminal that the test reads, for behaviour that depends on a terminal.
    case terminal
    /// For standard error: the same as standard output.
    case asOutput
    /// A descriptor of the test, which the test keeps open.
    case descriptor(Int32)
    /// `/dev/null`.
    case discarded
  }

  private struct State {
    var exit: Exit?
    var livesOn = false
    var peakMemoryBytes = 0
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var next = 0
  }

  /// The process id.
  public let pid: Int32
  /// Its standard output; if both streams share a terminal, all its output.
  public let output: ChildOutput
  /// Its standard error.
  public let errors: ChildOutput
  private let input: Mutex<Int32>
  private let state = Mutex(State())

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - executable: Its path.
  ///   - arguments: Its arguments, without its name.
  ///   - environment: Variables changed from the test's own; `nil` removes one.
  ///   - directory: Its working directory, if not the test's.
  ///   - input: The content of its standard input; `nil` keeps it open for `write` and `closeInput`.
  ///   - typesInput: Whether standard input is the terminal of standard output.
  ///   - output: Where standard output goes.
  ///   - errors: Where standard error goes.
  ///   - passing: A descriptor of the test's that the child gets as its descriptor 3.
  public init(
    _ executable: String, _ arguments: [String] = [], environment: [String: String?] = [:],
    directory: String? = nil, input bytes: [UInt8]? = [], typesInput: Bool = false,
    output: Stream = .captured, errors: Stream = .captured, passing: Int32? = nil
  ) throws {
    let out = try ChildStream(output)
    let err = try ChildStream(errors, output: out)
    let into = typesInput ? ChildStream.input(from: out) : try ChildStream.input()
    do {
      pid = try Spawn.start(
        executable, arguments, environment: Spawn.environment(changing: environment), directory: directory,
        descriptors: [into.child, out.child, err.child] + (passing.map { [$0] } ?? []))
    } catch {
      for stream in [out, err, into] { stream.closeBoth() }
      throw error
    }
    for stream in [out, err, into] { stream.closeChildSide() }
    self.output = ChildOutput(reading: out.parent)
    self.errors = ChildOutput(reading: err.parent)
    input = Mutex(into.parent)
    BackgroundThread.start { [pid, weak self] in
      Self.waitForEnd(of: pid)
      if let self { self.reap() } else { _ = Self.collect(pid) }
    }
    if let bytes { feed(bytes) }
  }

  deinit {
    state.withLock { state in
      if state.exit == nil, !state.livesOn { _ = kill(pid, SIGKILL) }
    }
    closeInput()
  }

  /// Runs a program to its end.
  public static func run(
    _ executable: String, _ arguments: [String] = [], environment: [String: String?] = [:],
    directory: String? = nil, input: [UInt8] = []
  ) async throws -> Finished {
    let child = try ChildProcess(
      executable, arguments, environment: environment, directory: directory, input: input)
    return await child.finished()
  }

  /// Sends a signal, if the process still runs.
  public func send(_ signal: Int32) {
    state.withLock { state in
      if state.exit == nil { _ = kill(pid, signal) }
    }
  }

  /// Sends a signal and blocks until the process has ended: for a `deinit`, which cannot suspend.
  package func end(by signal: Int32? = nil) {
    if let signal { send(signal) }
    let hasEnded = state.withLock { state in
      // `deinit` must not kill the process: it ends by itself.
      state.livesOn = true
      return state.exit != nil
    }
    if !hasEnded { Self.waitForEnd(of: pid) }
  }

  /// Suspends until the process has ended. When the task is cancelled the process is killed.
  public func exit() async -> Exit {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let hasEnded = state.withLock { state in
          if state.exit == nil { state.waiters[number] = continuation }
          return state.exit != nil
        }
        if hasEnded { continuation.resume() }
      }
    } onCancel: {
      send(SIGKILL)
    }
    return state.withLock { $0.exit ?? .signal(SIGKILL) }
  }

  /// Suspends until the process and its streams have ended.
  public func finished() async -> Finished {
    let exit = await exit()
    return Finished(
      exit: exit, output: await output.toEnd(), errors: await errors.toEnd(),
      peakMemoryBytes: state.withLock(\.peakMemoryBytes))
  }

  /// Writes to standard input. Blocks while the pipe is full; a child that no longer reads is no error.
  public func write(_ bytes: [UInt8]) {
    input.withLock { fd in
      var rest = bytes[...]
      while fd >= 0, !rest.isEmpty {
        let written = rest.withUnsafeBytes { SystemCall.writeQuietly(fd, $0) }
        guard written > 0 else { return }
        rest = rest.dropFirst(written)
      }
    }
  }

  /// Ends standard input.
  public func closeInput() {
    input.withLock { fd in
      if fd >= 0 { close(fd) }
      fd = -1
    }
  }

  private func feed(_ bytes: [UInt8]) {
    guard bytes.count > 65_536 else {
      write(bytes)
      return closeInput()
    }
    BackgroundThread.start { [self] in
      write(bytes)
      closeInput()
    }
  }

  /// The process is reaped under the lock, so that no signal reaches another process that reuses its ID.
  private func reap() {
    let waiters = state.withLock { state in
      (state.exit, state.peakMemoryBytes) = Self.collect(pid)
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume() }
  }

  private static func waitForEnd(of pid: pid_t) {
    var information = siginfo_t()
    while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
  }

  private static func collect(_ pid: pid_t) -> (Exit, Int) {
    var peak = 0
    let status = testsupport_collect(pid, &peak)
    let signal = status & 0x7F
    return (signal == 0 ? .status((status >> 8) & 0xFF) : .signal(signal), peak * 1_024)
  }
}
