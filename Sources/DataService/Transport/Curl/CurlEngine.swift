internal import CCurl
import PlatformC
import PlatformFoundation

/// All exchanges of one transport: libcurl's multi handle on the network thread, its connections, and the queue for
/// starting.
///
/// Every function is called on the network thread, which justifies `@unchecked Sendable`.
final class CurlEngine: NetworkEngine, @unchecked Sendable {
  private static let sparesLimit = 32

  private let configuration: CurlConfiguration
  private let timekeeper: any Timekeeper
  private var library: CurlLibrary?
  private var multi: UnsafeMutableRawPointer?
  private var queue: ExchangeQueue<CurlExchange>
  private var running: [EasyHandle] = []
  private var spares: [EasyHandle] = []
  /// Handles that cannot be reused, freed when the thread is idle.
  private var retired: [EasyHandle] = []
  /// The sockets that ended HTTP/1.x exchanges have left open. libcurl may have closed one since; it is only looked at.
  private var keptSockets: [Int32: ConnectionEnds] = [:]
  /// Known from the first exchange over TLS on.
  private var authorities: SystemAuthorities?
  /// Reused memory for the descriptors of one wait; empty between waits.
  private var descriptors: [curl_waitfd] = []
  private var isClosed = false
  private(set) var needsAdvance = false
  /// The time at which this turn of libcurl began; 0 between turns.
  private var turnInstant: Int64 = 0

  init(configuration: CurlConfiguration, timekeeper: any Timekeeper) {
    self.configuration = configuration
    self.timekeeper = timekeeper
    queue = ExchangeQueue(configuration.exchanges)
  }

  // MARK: Start and end of exchanges

  /// Starts an exchange, or puts it in the queue.
  func submit(_ exchange: CurlExchange, on thread: NetworkThread) {
    guard !exchange.hasEnded else { return }
    guard !isClosed else {
      exchange.finish(.failure(DataServiceError(.closed, "the transport was closed")))
      return
    }
    exchange.track.clock = PhaseClock(limits: exchange.request.limits, now: timekeeper.bootNanoseconds)
    do throws(DataServiceError) {
      if multi == nil { try open(on: thread) }
    } catch {
      exchange.finish(.failure(error))
      return
    }
    startInTurn(exchange)
  }

  private func startInTurn(_ exchange: CurlExchange) {
    let isPrefetch = exchange.request.isPrefetch
    if queue.start(host: exchange.origin.key, isPrefetch: isPrefetch) {
      start(exchange)
    } else {
      exchange.track.ticket = queue.wait(exchange, host: exchange.origin.key, isPrefetch: isPrefetch)
      exchange.request.onPlace?(true)
    }
  }

  /// Removes an exchange that ended before its transfer began.
  func abandon(_ exchange: CurlExchange) {
    disarm(exchange)
    if let ticket = exchange.track.ticket, queue.remove(ticket) { return }
    guard let easy = transfer(of: exchange) else { return }
    release(easy, exchange)
    startNext()
  }

  /// Resumes a transfer whose reader has caught up.
  func resume(_ exchange: CurlExchange) {
    guard exchange.track.isPaused, let easy = transfer(of: exchange) else { return }
    exchange.track.isPaused = false
    enter(.receiving, exchange)
    // May deliver the bytes that libcurl held back through the callbacks, which also handle errors.
    _ = ccurl_easy_pause(easy.library.table, easy.raw, CURLPAUSE_CONT)
    needsAdvance = true
  }

  private func open(on thread: NetworkThread) throws(DataServiceError) {
    let library = try CurlLibrary.load(configuration.libraryName)
    self.library = library
    guard let multi = ccurl_multi_init(library.table) else {
      throw .notMade("libcurl could not be initialised")
    }
    // Keep at least as many idle connections as exchanges may run.
    _ = ccurl_multi_set_long(
      library.table, multi, CURLMOPT_MAXCONNECTS, max(8, configuration.exchanges.inAll * 2))
    self.multi = multi
    thread.attach(self)
  }

  private func start(_ exchange: CurlExchange) {
    guard let library, let multi else { return }
    guard let easy = spares.popLast() ?? EasyHandle(library: library, userAgent: configuration.userAgent)
    else {
      fail(exchange, DataServiceError(.other, "libcurl could not make a transfer"))
      return
    }
    if authorities == nil, exchange.origin.isSecure {
      authorities = SystemAuthorities(library, easy: easy.raw)
    }
    do throws(DataServiceError) {
      try easy.prepare(
        exchange, fresh: needsFreshConnection(exchange), authorities: authorities ?? .bundle)
    } catch {
      easy.release()
      fail(exchange, error)
      return
    }
    let code = ccurl_multi_add(library.table, multi, easy.raw)
    guard code == CURLM_OK else {
      easy.release()
      fail(exchange, DataServiceError(.other, "libcurl could not start a transfer: \(words(code))"))
      return
    }
    easy.place = running.count
    running.append(easy)
    needsAdvance = true
    enter(.connecting, exchange)
  }

  /// Whether the exchange needs a new connection. On a reused one libcurl may send the request twice, if the
  /// connection ends before the first byte of the answer; a request that must not be repeated cannot risk that. An
  /// exchange that asks for HTTP/1.1 must not share a connection that speaks HTTP/2, as libcurl would allow.
  private func needsFreshConnection(_ exchange: CurlExchange) -> Bool {
    exchange.track.needsFreshConnection || !exchange.request.isRepeatable
      || exchange.request.connection.isHTTP11Only && queue.isSharing(exchange.origin.key)
  }

  /// Ends an exchange that was started but has no transfer.
  private func fail(_ exchange: CurlExchange, _ error: DataServiceError) {
    disarm(exchange)
    queue.finish(host: exchange.origin.key)
    exchange.finish(.failure(error))
  }

  private func startNext() {
    while let exchange = queue.next() {
      exchange.track.ticket = nil
      exchange.request.onPlace?(false)
      start(exchange)
    }
  }

  /// The handle that carries an exchange; `nil` where its transfer does not run.
  private func transfer(of exchange: CurlExchange) -> EasyHandle? {
    running.first { $0.exchange === exchange }
  }

  /// Removes the transfer from libcurl and keeps its handle for the next one.
  private func release(_ easy: EasyHandle, _ exchange: CurlExchange) {
    let last = running.removeLast()
    if last !== easy {
      running[easy.place] = last
      last.place = easy.place
    }
    if let multi { _ = ccurl_multi_remove(easy.library.table, multi, easy.raw) }
    easy.release()
    if !easy.library.mayReuseHandles {
      retired.append(easy)
    } else if spares.count < Self.sparesLimit {
      spares.append(easy)
    }
    queue.finish(host: exchange.origin.key)
  }

  /// Frees retired handles and prepares one for the next exchange while the network is awaited anyway.
  private func stockUp(_ library: CurlLibrary) {
    guard !library.mayReuseHandles, !running.isEmpty else { return }
    retired = []
    guard spares.isEmpty, let easy = EasyHandle(library: library, userAgent: configuration.userAgent) else {
      return
    }
    // An option that fails here fails again in the exchange that uses it, which reports the error.
    try? easy.connect(as: ConnectionOptions(), authorities ?? .bundle)
    spares.append(easy)
  }

  // MARK: Turns

  func advance() {
    needsAdvance = false
    if let library, let multi {
      turnInstant = timekeeper.bootNanoseconds
      let code = ccurl_multi_perform(library.table, multi)
      turnInstant = 0
      takeEnded(library, multi)
      if code != CURLM_OK { failAll(DataServiceError(.other, "libcurl failed: \(words(code))")) }
      startNext()
    }
  }

  func wait(wakeDescriptor descriptor: Int32, milliseconds: Int32) -> Bool {
    guard let library, let multi else { return false }
    stockUp(library)
    var waited = descriptors
    descriptors = []
    if descriptor >= 0 {
      waited.append(curl_waitfd(fd: descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0))
    }
    ccurl_thread_rest()
    _ = ccurl_multi_wait(library.table, multi, &waited, UInt32(waited.count), milliseconds)
    ccurl_thread_resume()
    let isSignalled = descriptor >= 0 && waited[0].revents != 0
    waited.removeAll(keepingCapacity: true)
    descriptors = waited
    needsAdvance = true
    return isSignalled
  }

  func close() {
    isClosed = true
    failAll(DataServiceError(.closed, "the transport was closed"))
    spares = []
    retired = []
    if let library, let multi { _ = ccurl_multi_cleanup(library.table, multi) }
    multi = nil
    needsAdvance = false
  }

  private func takeEnded(_ library: CurlLibrary, _ multi: UnsafeMutableRawPointer) {
    var code = CURLE_OK
    while let raw = ccurl_multi_ended(library.table, multi, &code) {
      guard let context = ccurl_get_context(library.table, raw) else { continue }
      let easy = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
      guard let exchange = easy.exchange else { continue }
      keepSocket(of: easy)
      let isForTheBundle = isForTheBundle(easy, exchange, code)
      // Nobody but `becomeReady` aborts. In both cases nothing has been sent.
      let isUnclean = code == CURLE_ABORTED_BY_CALLBACK
      if isForTheBundle || isUnclean, !exchange.hasEnded {
        if isForTheBundle { authorities = .bundle }
        exchange.track.needsFreshConnection = isUnclean
        release(easy, exchange)
        startInTurn(exchange)
        continue
      }
      let isCutOff = code == CURLE_OK && easy.tlsEnd == 0
      let result = outcome(of: easy, exchange, isCutOff ? CURLE_PARTIAL_FILE : code)
      disarm(exchange)
      release(easy, exchange)
      exchange.finish(result)
    }
  }

  private func keepSocket(of easy: EasyHandle) {
    guard let ends = easy.ends, easy.head?.version.hasPrefix("1.") == true,
      case let socket = ccurl_active_socket(easy.library.table, easy.raw), socket >= 0
    else { return }
    keptSockets[socket] = ends
  }

  /// Whether a connection has no input waiting, if it is a kept HTTP/1.x connection: what an origin sends unasked
  /// would be taken for the next answer (RFC 9112 section 9.2). Over TLS such input may be no part of an answer, but
  /// nobody can tell without reading it; libcurl 8 uses such a connection no more either.
  func isClean(_ ends: ConnectionEnds) -> Bool {
    guard let kept = keptSockets.firstIndex(where: { $0.value == ends }) else { return true }
    let socket = keptSockets.remove(at: kept).key
    var byte: UInt8 = 0
    return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 && errno == EAGAIN
  }

  /// Whether the folder of authorities did not complete the peer's chain.
  private func isForTheBundle(_ easy: EasyHandle, _ exchange: CurlExchange, _ code: CURLcode) -> Bool {
    code == CURLE_PEER_FAILED_VERIFICATION && easy.authorities == .folder
      && exchange.request.connection.trustsTheSystem
      && CertificateVerdict(easy.verifyResult).map { $0.reason != "wrongHost" } ?? false
  }

  private func outcome(
    of easy: EasyHandle, _ exchange: CurlExchange, _ code: CURLcode
  ) -> Result<Void, DataServiceError> {
    if let refusal = easy.refusal { return .failure(refusal) }
    var code = code
    if code == CURLE_OK, let head = easy.head, head.isLengthIgnored, easy.expectsBody(head),
      let length = head.contentLength, easy.received != length
    {
      code = CURLE_PARTIAL_FILE
    }
    if code == CURLE_OK {
      guard let head = easy.head else {
        return .failure(
          DataServiceError(
            .disconnected, "\(exchange.origin.host) closed the connection without a response")
        )
      }
      if exchange.origin.isSecure, !exchange.request.connection.isHTTP11Only {
        queue.note(exchange.origin.key, isSharing: head.version == "2")
      }
      return .success(())
    }
    let words = easy.failureText
    var failure = TransferFailure(
      code: code, text: words.isEmpty ? self.words(code) : words,
      osError: Int32(truncatingIfNeeded: ccurl_get_long(easy.library.table, easy.raw, CURLINFO_OS_ERRNO)),
      verifyResult: easy.verifyResult,
      connectStatus: ccurl_get_long(easy.library.table, easy.raw, CURLINFO_HTTP_CONNECTCODE),
      hasHead: easy.head != nil, isEncoded: easy.head?.isEncoded ?? false,
      host: exchange.origin.host, port: exchange.origin.port,
      isProxyGiven: exchange.request.connection.proxy != nil,
      mayUseProxy: exchange.request.connection.proxyInForce(isSecure: exchange.origin.isSecure) != nil,
      usedProxy: easy.usedProxy,
      unixSocket: exchange.request.connection.unixSocket,
      isResolved: !exchange.request.connection.resolutions.isEmpty)
    failure.areDescriptorsUsedUp = TransferFailure.mayBeOfDescriptors(code) && Descriptors.areUsedUp
    if failure.isOfClientKey { failure.protectedKeyFile = easy.protectedKeyFile }
    return .failure(failure.error { NetworkState.hasRoute })
  }

  private func failAll(_ error: DataServiceError) {
    for easy in running {
      guard let exchange = easy.exchange else { continue }
      disarm(exchange)
      release(easy, exchange)
      exchange.finish(.failure(error))
    }
    while isClosed, let exchange = queue.next() {
      disarm(exchange)
      queue.finish(host: exchange.origin.key)
      exchange.finish(.failure(error))
    }
  }

  private func words(_ code: CURLcode) -> String {
    guard let library else { return "" }
    return ccurl_easy_strerror(library.table, code).map { String(cString: $0) } ?? ""
  }

  private func words(_ code: CURLMcode) -> String {
    guard let library else { return "" }
    return ccurl_multi_strerror(library.table, code).map { String(cString: $0) } ?? ""
  }

  // MARK: Deadlines

  /// Records that an exchange has entered a phase, or was active in it.
  func enter(_ phase: PhaseClock.Phase, _ exchange: CurlExchange) {
    // A turn is short and a response has many lines, so the clock is read and the activity recorded once per turn.
    let now = turnInstant == 0 ? timekeeper.bootNanoseconds : turnInstant
    guard exchange.track.phase != phase || exchange.track.entered != now else { return }
    (exchange.track.phase, exchange.track.entered) = (phase, now)
    if phase == .waiting { noteSharing(exchange) }
    exchange.track.clock?.enter(phase, at: now)
    arm(exchange)
  }

  /// Notes that the host speaks HTTP/2 before it has answered: two requests are under way on one connection.
  private func noteSharing(_ exchange: CurlExchange) {
    let host = exchange.origin.key
    guard exchange.origin.isSecure, !queue.isSharing(host),
      let ends = running.first(where: { $0.exchange === exchange })?.ends
    else { return }
    let own = running.lazy.filter { $0.ends == ends && $0.exchange?.origin.key == host }
    if own.count > 1 { queue.note(host, isSharing: true) }
  }

  /// Makes sure that the timer fires no later than the next deadline. A timer that fires early is set again then,
  /// so an ordinary exchange sets only one timer.
  private func arm(_ exchange: CurlExchange) {
    guard let (instant, _) = exchange.track.clock?.deadline else { return }
    if exchange.track.timer != nil, exchange.track.timerInstant <= instant { return }
    exchange.track.timer?.cancel()
    exchange.track.timerInstant = instant
    exchange.track.timer = timekeeper.after(.nanoseconds(instant - timekeeper.bootNanoseconds)) {
      exchange.host.thread.performHere { exchange.host.checkDeadline(exchange) }
    }
  }

  private func disarm(_ exchange: CurlExchange) {
    exchange.track.timer?.cancel()
    exchange.track.timer = nil
    exchange.track.clock = nil
  }

  /// Ends an exchange whose time is over.
  func checkDeadline(_ exchange: CurlExchange) {
    exchange.track.timer = nil
    guard !exchange.hasEnded, let (instant, phase) = exchange.track.clock?.deadline else { return }
    guard instant <= timekeeper.bootNanoseconds else {
      arm(exchange)
      return
    }
    exchange.finish(
      .failure(.timeout(phase, host: exchange.origin.host, limits: exchange.request.limits)))
    abandon(exchange)
  }
}
