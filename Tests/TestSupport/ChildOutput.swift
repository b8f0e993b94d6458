import FixtureServer
import PlatformC
import Synchronization

/// The output of one of a child process's streams, collected as it arrives.
public final class ChildOutput: Sendable {
  private struct Waiter {
    let isMet: @Sendable ([UInt8]) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var bytes: [UInt8] = []
    var hasEnded = false
    var waiters: [Int: Waiter] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  /// Reads a descriptor on its own thread until the end of the stream, then closes it; -1 means that the stream is not
  /// read.
  init(reading fd: Int32) {
    guard fd >= 0 else {
      state.withLock { $0.hasEnded = true }
      return
    }
    BackgroundThread.start { [self] in
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(fd, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }  // a terminal whose other side closed gives EIO
        append(buffer[..<count])
      }
      close(fd)
      end()
    }
  }

  /// Everything so far.
  public var bytes: [UInt8] { state.withLock(\.bytes) }

  /// Everything so far, as text.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Suspends until the stream has ended, and returns all of it.
  @discardableResult public func toEnd() async -> [UInt8] {
    await wait { _ in false }
    return bytes
  }

  /// Suspends until the text has appeared; `false` if the stream ended, or the task was cancelled, without it.
  @discardableResult public func waits(for text: String) async -> Bool {
    await wait { String(decoding: $0, as: UTF8.self).contains(text) }
    return self.text.contains(text)
  }

  /// Suspends until `count` whole lines have appeared or the stream has ended, and returns the lines so far.
  @discardableResult public func lines(_ count: Int) async -> [String] {
    await wait { bytes in bytes.count { $0 == 0x0A } >= count }
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
  }

  /// Suspends until `count` bytes have arrived.
  public func waits(forBytes count: Int) async { await wait { $0.count >= count } }

  private func wait(until isMet: @escaping @Sendable ([UInt8]) -> Bool) async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let passes = state.withLock { state in
          if state.hasEnded || Task.isCancelled || isMet(state.bytes) { return true }
          state.waiters[number] = Waiter(isMet: isMet, continuation: continuation)
          return false
        }
        if passes { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
    }
  }

  private func append(_ new: ArraySlice<UInt8>) {
    resume { state in
      state.bytes += new
      return state.waiters.filter { $0.value.isMet(state.bytes) }.map(\.key)
    }
  }

  private func end() {
    resume { state in
      state.hasEnded = true
      return Array(state.waiters.keys)
    }
  }

  private func resume(_ change: (inout State) -> [Int]) {
    let ready = state.withLock { state in
      change(&state).compactMap { state.waiters.removeValue(forKey: $0)?.continuation }
    }
    for continuation in ready { continuation.resume() }
  }
}
