internal import CacheStore
internal import DataService
internal import FoundationEssentials
internal import Glibc

/// The service as the command uses it: the one file that knows how loads are started and ended.
struct Fetcher: Sendable {
  typealias Deliver = @Sendable (DataService.Delivery<DataService.BodyStream>) -> Void
  typealias Tell = @Sendable (DataService.TransferProgress) -> Void

  /// Starts a load and returns what cancels it. A stored delivery at hand has been handed over when it returns; others
  /// come on another thread. `ended` is called once, after the row is committed and the lease given back.
  let start:
    @Sendable (
      _ request: DataService.Request, _ policy: FetchPolicy, _ progress: Tell?, _ deliver: @escaping Deliver,
      _ ended: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void
  /// Ends what is under way and flushes what is to be kept; `true` when that is done.
  let close: @Sendable (_ timeLimit: Duration) -> Bool
  /// Ends the process with a status after that time, whatever holds the main thread up: a disk that does not answer.
  var endAfter: @Sendable (_ timeLimit: Duration, _ status: ExitStatus) -> Void = { _, _ in }

  init(
    start:
      @escaping @Sendable (
        DataService.Request, FetchPolicy, Tell?, @escaping Deliver, @escaping @Sendable () -> Void
      ) -> @Sendable () -> Void,
    close: @escaping @Sendable (Duration) -> Bool
  ) {
    self.start = start
    self.close = close
  }

  /// The real one.
  init(service: DataService) {
    start = { request, policy, progress, deliver, ended in
      let load = service.start(request, policy: policy, progress: progress, deliver: deliver, ended: ended)
      return { load.cancel() }
    }
    endAfter = { timeLimit, status in
      service.afterIfRunning(timeLimit) { _exit(status.rawValue) }
    }
    close = { timeLimit in
      // A load that has said its last is over a moment later.
      for _ in 0..<20 {
        if service.closeNow() {
          // The process is about to end: what the service has is not given back piece by piece.
          _ = Unmanaged.passRetained(service)
          return true
        }
        usleep(50)
      }
      let closed = Mailbox<Bool>()
      Task {
        await service.close()
        closed.post(true)
      }
      return closed.wait(milliseconds: Int32(clamping: timeLimit.milliseconds), heedsSignals: false) ?? false
    }
  }
}

extension Fetcher {
  /// Ends after output could no longer be written: nobody reads any more, a signal came, or the disk is full. The loads
  /// have been cancelled; what they were writing is finished or undone before the process ends.
  func stop(after error: OutputError, _ diagnostics: Diagnostics) -> ExitStatus {
    _ = close(.seconds(2))
    return Output.status(after: error, diagnostics)
  }
}

extension DataService {
  /// Options that bring secrets into this process's memory.
  private static let credentialOptions: [OptionName] = [
    .user, .netrc, .header, .data, .dataBinary, .dataURLEncode, .cert, .keyFile, .proxy,
  ]

  /// The service for a command line: the store it names, warnings and traces to standard error.
  static func forCommand(
    _ arguments: Arguments, diagnostics: Diagnostics, transport: (any Transport)? = nil,
    waitsForStore: Bool = false
  ) -> DataService {
    if arguments.has(.insecure), !arguments.has(.offline), VerbSet.fetching.contains(VerbSet(arguments.verb))
    {
      diagnostics.say("--insecure: certificates are not verified, and anybody may have answered")
    }
    SandboxRules.prepare(arguments)
    if Self.credentialOptions.contains(where: arguments.has) { ProcessStart.keepMemoryPrivate() }
    var configuration = Configuration(store: StoreLocation.configuration(arguments))
    // Commands whose purpose is to fill the store wait for the commit as long as the store waits for a lock.
    if waitsForStore { configuration.timeouts.commit = configuration.store.busyTimeout }
    configuration.finishesAfterDeadline = false
    // What is preloaded, or compared with next time, is for the store: a disk that is busy for a moment is no failure.
    if [.preload, .diff].contains(arguments.verb) { configuration.timeouts.commit = .seconds(5) }
    configuration.secrets = Shown.secrets
    configuration.onWarning = { diagnostics.warn($0) }
    if diagnostics.isVerbose {
      diagnostics.trace(StoreLocation.explained(arguments))
      configuration.onTrace = { diagnostics.trace($0) }
    }
    return DataService(configuration: configuration, transport: transport)
  }
}
