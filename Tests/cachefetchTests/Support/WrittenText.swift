import PlatformC

@testable import cachefetch

/// What is written to a descriptor: a file in memory.
final class WrittenText: Sendable {
  let output: OutputDescriptor

  init() throws { output = OutputDescriptor(number: try MemoryFile.holding([])) }

  deinit { close(output.number) }

  /// All of it so far.
  var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(max(0, lseek(output.number, 0, SEEK_CUR))))
    let count = pread(output.number, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(0, count)))
  }

  /// All of it so far, as text.
  var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Both streams of a command, and what it knows of its terminal.
struct WrittenStreams {
  let output: WrittenText
  let errors: WrittenText
  let diagnostics: Diagnostics

  init(isQuiet: Bool = false, isVerbose: Bool = false, terminal: Terminal = Terminal()) throws {
    output = try WrittenText()
    errors = try WrittenText()
    diagnostics = Diagnostics(
      isQuiet: isQuiet, isVerbose: isVerbose, terminal: terminal, status: RedrawnLine(on: errors.output))
  }
}

extension Terminal {
  /// Both streams are one.
  static let both = Terminal(isOutput: true, isError: true, isInput: true, redraws: true)
  /// Both are one that has colours.
  static let coloured = Terminal(isOutput: true, isError: true, isInput: true, redraws: true, hasColour: true)
}
