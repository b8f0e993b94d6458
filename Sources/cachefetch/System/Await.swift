/// Waits on the main thread for asynchronous work.
enum Await {
  /// The result of `work`; `nil` when a signal came first.
  static func result<Value: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () async throws(Failure) -> Value
  ) -> Result<Value, Failure>? {
    let mailbox = Mailbox<Result<Value, Failure>>()
    Task {
      do throws(Failure) { mailbox.post(.success(try await work())) } catch { mailbox.post(.failure(error)) }
    }
    return mailbox.wait()
  }
}
