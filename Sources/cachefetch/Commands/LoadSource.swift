internal import DataService

/// What a command's loads come from: the service, or a test's script.
protocol LoadSource: Sendable {
  typealias Delivery = DataService.Delivery<DataService.BodyStream>
  typealias Progress = @Sendable (DataService.TransferProgress) -> Void

  /// Begins a load and returns what cancels it. A stored delivery is made before it returns, the others on another thread.
  /// `ended` is called once, after the row is committed and the lease released.
  func begin(
    _ request: DataService.Request, _ policy: FetchPolicy, progress: Progress?,
    deliver: @escaping @Sendable (Delivery) -> Void, ended: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void

  /// Ends the loads under way, and has pending writes done within the time limit.
  func close(within timeLimit: Duration)

  /// Ends the process with a status after a time, even if the main thread is blocked by a disk that does not answer.
  func endProcess(after timeLimit: Duration, _ status: ExitStatus)
}

extension LoadSource {
  /// Ends the command after an output error: the reader closed the pipe, a signal came, or the disk is full. The loads
  /// have been cancelled; their writes are committed or rolled back before the process ends.
  func stop(after error: OutputError, _ diagnostics: Diagnostics) -> ExitStatus {
    close(within: .seconds(2))
    return Output.status(after: error, diagnostics)
  }
}
