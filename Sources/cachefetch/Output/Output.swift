/// Writes text to standard output and returns the resulting exit status.
enum Output {
  /// Text for a person, with the marks that the locale has.
  static func write(_ text: String, _ diagnostics: Diagnostics, status: ExitStatus = .success) -> ExitStatus {
    write(Array(Typography.fitting(text).utf8), diagnostics, status: status)
  }

  /// Bytes for a program, as they are: JSON, a script, names to complete.
  static func write(_ bytes: [UInt8], _ diagnostics: Diagnostics, status: ExitStatus = .success) -> ExitStatus
  {
    do throws(OutputError) {
      try OutputDescriptor.standardOutput.write(bytes)
      return status
    } catch {
      return self.status(after: error, diagnostics)
    }
  }

  /// The exit status after an output error.
  static func status(after error: OutputError, _ diagnostics: Diagnostics) -> ExitStatus {
    switch error {
    case .interrupted: return Signals.exitStatus
    case .closed: return .brokenPipe
    case .failed:
      diagnostics.say(error)
      return .inputOutput
    }
  }
}
