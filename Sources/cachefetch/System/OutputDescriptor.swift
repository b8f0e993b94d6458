internal import PlatformC
internal import PlatformFoundation

/// Why something could not be written.
enum OutputError: Error, Equatable {
  /// The reader has closed the pipe.
  case closed
  /// A signal came while waiting for room.
  case interrupted
  /// The system's error number, and what was being written.
  case failed(Int32, path: String?)
}

/// A file descriptor written with `write(2)`, without a buffer: the bytes have left the process when a call returns.
struct OutputDescriptor: Sendable {
  let number: Int32

  static let standardOutput = OutputDescriptor(number: STDOUT_FILENO)
  static let standardError = OutputDescriptor(number: STDERR_FILENO)

  /// Writes all bytes, or throws.
  func write(_ bytes: UnsafeRawBufferPointer) throws(OutputError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = PlatformC.write(number, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if written >= 0 {
        rest = rest.dropFirst(written)
        // A signal that comes once some bytes are written gives a short count, not EINTR.
        if !rest.isEmpty, Signals.pending != nil { throw .interrupted }
        continue
      }
      switch errno {
      case EINTR: if Signals.pending != nil { throw .interrupted }
      case EAGAIN: try waitForRoom()
      case EPIPE: throw .closed
      case let number: throw .failed(number, path: nil)
      }
    }
  }

  /// Writes all bytes, or throws.
  func write(_ bytes: [UInt8]) throws(OutputError) {
    let result = bytes.withUnsafeBytes { buffer -> Result<Void, OutputError> in
      do throws(OutputError) { return .success(try write(buffer)) } catch { return .failure(error) }
    }
    try result.get()
  }

  /// Writes all bytes, or throws.
  func write(_ data: Data) throws(OutputError) {
    // `withUnsafeBytes` of Data rethrows untyped.
    let result = data.withUnsafeBytes { buffer -> Result<Void, OutputError> in
      do throws(OutputError) { return .success(try write(buffer)) } catch { return .failure(error) }
    }
    try result.get()
  }

  /// Writes text, or throws.
  func write(_ text: String) throws(OutputError) { try write(Array(text.utf8)) }

  /// Another process that shares the descriptor may have made it non-blocking.
  private func waitForRoom() throws(OutputError) {
    var polled = [
      pollfd(fd: number, events: Int16(POLLOUT), revents: 0),
      pollfd(fd: Signals.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    if Signals.pending == nil { poll(&polled, 2, -1) }
    if Signals.pending != nil { throw .interrupted }
  }
}
