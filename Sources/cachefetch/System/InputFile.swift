internal import Glibc

/// Files and standard input that options name, read whole.
enum InputFile {
  /// The bytes of `path`; `-` is standard input. At most 256 MiB.
  static func read(_ path: String, for option: String) throws(UsageError) -> [UInt8] {
    let isStandardInput = path == "-"
    let descriptor = isStandardInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw UsageError(
        "\(option) “\(TerminalText.visible(path))” cannot be read: \(SystemError.text(errno))",
        "name a file that can")
    }
    defer { if !isStandardInput { close(descriptor) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count == 0 { return bytes }
      if count < 0 {
        if errno == EINTR, Signals.pending == nil { continue }
        throw UsageError(
          "\(option) “\(TerminalText.visible(path))” cannot be read: \(SystemError.text(errno))",
          "name a file that can")
      }
      bytes += buffer[..<count]
      if bytes.count > 256 << 20 {
        throw UsageError(
          "\(option) “\(TerminalText.visible(path))” is larger than 256 MiB", "name a smaller file")
      }
    }
  }

  /// Whether a file can be opened for reading.
  static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 }
}

extension InputFile {
  /// A line of standard input, without its line feed; `nil` at its end.
  static func line() -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      let count = Glibc.read(STDIN_FILENO, &byte, 1)
      if count == 1, byte != 0x0A {
        bytes.append(byte)
      } else if count == 1 {
        return String(decoding: bytes, as: UTF8.self)
      } else if count == 0 || errno != EINTR || Signals.pending != nil {
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
      }
    }
  }
}
