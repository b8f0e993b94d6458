internal import DataService
internal import PlatformC

/// Answers the clients of a listening socket: one line of JSON in, the lines of `--json` out.
///
/// One thread waits for all of them with `poll(2)`. What their loads deliver is made into lines by tasks, and posted.
final class Server {
  /// What a command reads first that hands its exchange over.
  static let taken = Array("{\"taken\":true}\n".utf8)

  struct Limits {
    /// How many are answered at once; others wait to be accepted.
    var clients = 64
    /// The longest line, and how long a client may take to send it.
    var lineBytes = 1 << 20
    var sending = Duration.seconds(5)
    /// How long a client may leave what is there for it unread.
    var reading = Duration.seconds(30)
    /// How long it goes on without a client; zero for ever.
    var idle = Duration.seconds(600)
    /// How often it looks whether anybody can still reach it.
    var looking = Duration.seconds(10)
  }

  private final class Client {
    let number: Int
    let socket: Int32
    /// When it is let go, unless it goes on by then.
    var due: ContinuousClock.Instant?
    var input: [UInt8] = []
    var isAsking = true
    var output: [UInt8] = []
    var sent = 0
    var cancel: (@Sendable () -> Void)?
    /// Whether nothing follows the output.
    var isAnswered = false

    init(_ number: Int, _ socket: Int32, due: ContinuousClock.Instant) {
      (self.number, self.socket, self.due) = (number, socket, due)
    }

    deinit { close(socket) }
  }

  private enum Event: Sendable {
    case line(Int, [UInt8])
    case ended(Int)
  }

  private let listener: Int32
  private let source: any LoadSource
  private let terms: ServeTerms
  private let limits: Limits
  private let isReachable: () -> Bool
  private let leave: () -> Void
  private let clock: () -> ContinuousClock.Instant
  private let mailbox = Mailbox<Event>()
  private var clients: [Int: Client] = [:]
  private var lastNumber = 0
  private var idleSince: ContinuousClock.Instant
  private var nextLook: ContinuousClock.Instant
  private var isLeaving = false

  /// - Parameters:
  ///   - leave: Takes the socket away from where clients look for it.
  ///   - isReachable: Whether the store is there, and the socket beside it this one.
  init(
    _ listener: Int32, _ source: any LoadSource, _ terms: ServeTerms, limits: Limits = .init(),
    clock: @escaping () -> ContinuousClock.Instant = { .now }, leave: @escaping () -> Void,
    isReachable: @escaping () -> Bool
  ) {
    (self.listener, self.source, self.terms, self.limits) = (listener, source, terms, limits)
    (self.isReachable, self.leave, self.clock) = (isReachable, leave, clock)
    (idleSince, nextLook) = (clock(), clock() + limits.looking)
  }

  /// How many clients there are.
  var count: Int { clients.count }

  /// Answers until a signal comes, nobody has come for long, or nobody can come any more.
  func run() {
    while turn() {}
    for client in clients.values { letGo(client) }
  }

  /// Waits for what comes next, at most `milliseconds`, and handles it. Returns whether there is more to do.
  func turn(milliseconds: Int32 = .max) -> Bool {
    let now = clock()
    expire(now)
    if isOver(now) { return false }
    let waiting = Array(clients.values)
    let accepts = !isLeaving && clients.count < limits.clients
    var polled = [mailbox.descriptor, Signals.descriptor, accepts ? listener : -1].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    polled += waiting.map { client in
      let events = client.isAsking ? POLLIN : client.output.isEmpty ? 0 : POLLOUT
      return pollfd(fd: client.socket, events: Int16(events), revents: 0)
    }
    // The descriptor tells of no signal that came before it was made.
    if Signals.pending != nil { return false }
    poll(&polled, nfds_t(polled.count), min(milliseconds, wait(now)))
    Sandbox.confineMainThread()
    for event in mailbox.all() { take(event) }
    for (client, found) in zip(waiting, polled.dropFirst(3)) where clients[client.number] != nil {
      let events = Int32(found.revents)
      // Whoever has closed wants nothing any more; who only writes no more still reads.
      if events & (POLLHUP | POLLERR) != 0 {
        letGo(client)
      } else if events & POLLIN != 0 {
        receive(client)
      } else if events != 0 {
        flush(client)
      }
    }
    if polled[2].revents != 0 { accept() }
    return true
  }

  /// The milliseconds until time changes something.
  private func wait(_ now: ContinuousClock.Instant) -> Int32 {
    var dues = clients.values.compactMap(\.due) + [nextLook]
    if clients.isEmpty, limits.idle > .zero { dues.append(idleSince + limits.idle) }
    return Int32(clamping: now.duration(to: dues.min() ?? nextLook).milliseconds + 1)
  }

  private func expire(_ now: ContinuousClock.Instant) {
    for client in clients.values {
      guard let due = client.due, due <= now else { continue }
      if client.isAsking {
        refuse(client, UsageError("no whole line came within 5 s", "end the line with a line feed"))
      } else {
        letGo(client)
      }
    }
    guard nextLook <= now else { return }
    nextLook = now + limits.looking
    look()
  }

  private func look() { if !isReachable() { isLeaving = true } }

  private func isOver(_ now: ContinuousClock.Instant) -> Bool {
    guard clients.isEmpty else { return false }
    guard !isLeaving, limits.idle > .zero, idleSince + limits.idle <= now else { return isLeaving }
    leave()
    // Whoever came before the socket was taken away is answered.
    accept()
    isLeaving = true
    return clients.isEmpty
  }

  private func accept() {
    look()
    while !isLeaving, clients.count < limits.clients {
      guard let socket = ServeSocket.accepted(on: listener) else {
        if errno == EPERM { continue }
        // Who has no descriptors left can answer nobody.
        if errno == EMFILE || errno == ENFILE { isLeaving = true }
        return
      }
      lastNumber += 1
      clients[lastNumber] = Client(lastNumber, socket, due: clock() + limits.sending)
    }
  }

  private func receive(_ client: Client) {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(client.socket, &buffer, buffer.count, 0)
    guard count > 0 || count == 0 && !client.input.isEmpty else {
      if count == 0 || errno != EAGAIN && errno != EINTR { letGo(client) }
      return
    }
    let old = client.input.count
    client.input += buffer[..<count]
    let end = count == 0 ? old : client.input[old...].firstIndex(of: 0x0A)
    if end ?? client.input.count > limits.lineBytes {
      return refuse(client, UsageError("the line is longer than 1 MiB", "send a shorter one"))
    }
    guard let end else { return }
    guard end + 1 >= client.input.count else {
      return refuse(client, UsageError("more than one line came", "send each on a connection of its own"))
    }
    do throws(UsageError) {
      begin(client, try ServeRequest(client.input[..<end], on: terms))
    } catch {
      refuse(client, error)
    }
  }

  private func begin(_ client: Client, _ asked: ServeRequest) {
    forget(client)
    if asked.isHandedOver { send(client, Self.taken) }
    let (number, mailbox) = (client.number, mailbox)
    let (deliveries, delivered) = AsyncStream.makeStream(of: LoadSource.Delivery.self)
    let cancel = source.begin(asked.request, asked.policy, progress: nil) {
      delivered.yield($0)
    } ended: {
      delivered.finish()
    }
    let writing = Task {
      await asked.write(deliveries) { mailbox.post(.line(number, $0)) }
      mailbox.post(.ended(number))
    }
    client.cancel = {
      cancel()
      writing.cancel()
    }
  }

  /// Forgets the line, which may hold credentials.
  private func forget(_ client: Client) {
    client.input.withUnsafeMutableBytes { bytes in
      if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }
    client.input = []
    client.isAsking = false
    client.due = nil
  }

  private func refuse(_ client: Client, _ error: UsageError) {
    forget(client)
    var json = JSONWriter()
    json.member(
      "error", json: DeliveryLine.error(DataServiceError(.invalidRequest, error.message, hint: error.remedy)))
    client.isAnswered = true
    send(client, json.line())
  }

  private func take(_ event: Event) {
    switch event {
    case .line(let number, let bytes): if let client = clients[number] { send(client, bytes) }
    case .ended(let number):
      guard let client = clients[number] else { return }
      client.isAnswered = true
      look()
      // Its load may still be writing to the store.
      client.cancel = nil
      flush(client)
    }
  }

  private func send(_ client: Client, _ bytes: [UInt8]) {
    client.output += bytes
    flush(client)
  }

  /// Sends what there is room for.
  private func flush(_ client: Client) {
    let before = client.sent
    while client.sent < client.output.count {
      let count = ServeSocket.send(client.output[client.sent...], on: client.socket)
      if count < 0, errno == EAGAIN { break }
      if count < 0 { return letGo(client) }
      client.sent += count
    }
    if client.sent < client.output.count {
      if client.due == nil || client.sent > before { client.due = clock() + limits.reading }
      return
    }
    (client.output, client.sent, client.due) = ([], 0, nil)
    if client.isAnswered { letGo(client) }
  }

  private func letGo(_ client: Client) {
    guard clients.removeValue(forKey: client.number) != nil else { return }
    client.cancel?()
    if clients.isEmpty { idleSince = clock() }
  }
}
