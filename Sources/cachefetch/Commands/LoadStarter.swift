internal import CacheStore
internal import DataService
internal import PlatformC
internal import PlatformFoundation

/// The service as the command uses it: the only file that starts and ends loads.
struct LoadStarter: Sendable {
  typealias Deliver = @Sendable (DataService.Delivery<DataService.BodyStream>) -> Void
  typealias Tell = @Sendable (DataService.TransferProgress) -> Void

  /// Starts a load and returns a function that cancels it. A stored delivery is made before it returns, the others on
  /// another thread. `ended` is called once, after the row is committed and the lease released.
  let start:
    @Sendable (
      _ request: DataService.Request, _ policy: FetchPolicy, _ progress: Tell?, _ deliver: @escaping Deliver,
      _ ended: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void
  /// Ends the loads under way and flushes pending writes; `true` when that is done.
  let close: @Sendable (_ timeLimit: Duration) -> Bool
  /// Ends the process with a status after the time limit, even if the main thread is blocked by a disk that does not
  /// answer.
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
      // A load ends a moment after its last delivery.
      for _ in 0..<20 {
        if service.closeNow() {
          // The process is about to end, so the service's memory need not be freed.
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

extension LoadStarter {
  /// Ends the command after an output error: the reader closed the pipe, a signal came, or the disk is full. The loads
  /// have been cancelled; their writes are committed or rolled back before the process ends.
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
    _ arguments: Arguments, diagnostics: Diagnostics, exchanges: ExchangeLimits = .init()
  ) -> DataService {
    if Self.credentialOptions.contains(where: arguments.has) { ProcessStart.keepMemoryPrivate() }
    var configuration = Configuration(store: StoreLocation.configuration(arguments))
    configuration.finishesAfterDeadline = false
    configuration.exchanges = exchanges
    // `preload` and `diff` exist to fill the store, so a disk that is busy for a moment is no failure.
    if [.preload, .diff].contains(arguments.verb) { configuration.timeouts.commit = .seconds(5) }
    #if DEBUG
      // A test's command has no inner limits, so a busy machine cannot change its result.
      if getenv("CACHEFETCH_TEST_TIMEOUTS") != nil { configuration.timeouts = .endless }
    #endif
    configuration.threadPreparation = SandboxRules.preparation(arguments)
    configuration.secrets = Shown.secrets
    if VerbSet.fetching.union([.explain, .rm, .signOut, .doctor]).contains(VerbSet(arguments.verb)) {
      configuration.tier = arguments.tier
    }
    configuration.onWarning = { diagnostics.warn($0) }
    // `watch` tells an outage once.
    if arguments.verb != .watch {
      configuration.onWait = { url, delay, status in
        if let text = longWait(url, delay, status: status) { diagnostics.say(text) }
      }
      configuration.onPause = { host, length, status in
        guard length >= .seconds(5) else { return }
        diagnostics.sayOnce(
          "\(host) answered \(status) and is not asked again for \(Words.exactly(length)) (Retry-After); "
            + "“cachefetch rm --pause\(StoreLocation.repeatedOption) \(StoreLocation.quoted(host))” ends that"
        )
      }
    }
    if arguments.has(.insecure) {
      configuration.onEvent = { event in
        guard event.isUnverifiedAnswer else { return }
        diagnostics.sayOnce("--insecure: certificates are not verified, and anybody may have answered")
      }
    }
    if diagnostics.isVerbose {
      diagnostics.trace(StoreLocation.explained(arguments))
      configuration.onTrace = { diagnostics.trace($0) }
    }
    return DataService(configuration: configuration)
  }

  /// What is said of a pause before the server is asked again that looks as if nothing went on; `nil` for shorter ones.
  static func longWait(_ url: String, _ delay: Duration, status: Int) -> String? {
    guard delay >= .seconds(5) else { return nil }
    return
      "\(url): answered \(status) and asks to wait (Retry-After): asking again in \(Words.elapsed(delay))"
  }
}

extension DataService.Event {
  /// Whether a server has answered, to this process or the one it follows, whose certificate `--insecure` lets pass.
  fileprivate var isUnverifiedAnswer: Bool {
    switch kind {
    case .hop(let hop): hop.url.hasPrefix("https:")
    case .followed: url.hasPrefix("https:")
    default: false
    }
  }
}
