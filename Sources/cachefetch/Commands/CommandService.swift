internal import CacheStore
internal import DataService
internal import PlatformC
internal import PlatformFoundation

extension DataService: LoadSource {
  func begin(
    _ request: Request, _ policy: FetchPolicy, progress: Progress?,
    deliver: @escaping @Sendable (LoadSource.Delivery) -> Void, ended: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    let load = start(request, policy: policy, progress: progress, deliver: deliver, ended: ended)
    return { load.cancel() }
  }

  func close(within timeLimit: Duration) {
    // A load ends a moment after its last delivery.
    for _ in 0..<20 {
      if closeNow() {
        // The process is about to end, so the service's memory need not be freed.
        _ = Unmanaged.passRetained(self)
        return
      }
      usleep(50)
    }
    let closed = Mailbox<Void>()
    Task {
      await close()
      closed.post(())
    }
    _ = closed.wait(milliseconds: Int32(clamping: timeLimit.milliseconds), heedsSignals: false)
  }

  func endProcess(after timeLimit: Duration, _ status: ExitStatus) {
    afterIfRunning(timeLimit) { _exit(status.rawValue) }
  }
}

extension DataService {
  /// Options that bring secrets into this process's memory.
  private static let credentialOptions: [OptionName] = [
    .user, .netrc, .header, .data, .dataBinary, .dataURLEncode, .cert, .keyFile, .proxy,
  ]

  /// The service for a command line: the store it names, warnings and traces to standard error.
  static func forCommand(
    _ arguments: Arguments, _ diagnostics: Diagnostics, exchanges: ExchangeLimits = .init()
  ) -> DataService {
    if Self.credentialOptions.contains(where: arguments.has) { ProcessStart.keepMemoryPrivate() }
    var configuration = Configuration(store: StoreLocation.configuration(arguments))
    configuration.finishesAfterDeadline = arguments.verb == .serve
    configuration.exchanges = exchanges
    configuration.handOver = HandOver(arguments)?.ask
    // `preload` and `diff` exist to fill the store, so a disk that is busy for a moment is no failure.
    if [.preload, .diff].contains(arguments.verb) { configuration.timeouts.commit = .seconds(5) }
    #if DEBUG
      // A test's command has no inner limits, so a busy machine cannot change its result.
      if getenv("CACHEFETCH_TEST_TIMEOUTS") != nil { configuration.timeouts = .endless }
    #endif
    configuration.threadPreparation = SandboxRules.preparation(arguments, diagnostics)
    configuration.secrets = Shown.secrets
    if VerbSet.fetching.union([.serve, .explain, .rm, .signOut, .doctor]).contains(VerbSet(arguments.verb)) {
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
