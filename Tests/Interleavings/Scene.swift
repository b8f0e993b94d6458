import CacheStore
import DataService
import Dispatch
import PlatformC
import PlatformFoundation

/// What one seed plays on a stage, and the laws.
final class Scene: @unchecked Sendable {
  /// More than who follows another exchange for half a minute takes, looking every 5 ms.
  private static let longest = 80_000
  let stage: Stage
  private let keys = [
    Key(account: "", path: "/u"), Key(account: "a", path: "/u"), Key(account: "a", path: "/v"),
  ]
  private let seed: UInt64
  private let isTraced: Bool
  /// Whether what is stored from earlier days is still being made.
  private(set) var isPrelude = true
  /// Whether jobs run in the order in which they come, as where the store is as quick as all else.
  private(set) var isOrdered = true
  /// How often, of a hundred steps, a timer is quicker than what waits.
  private(set) var slowness = 0
  private var users: [User] = []
  private var overtakings = 0
  private var plot: [(step: Int, act: () -> Void)] = []
  /// Whether decoders have just looked at an answer, or a row is being written.
  var isTense = false
  /// What a 304 has just confirmed.
  private var justConfirmed: Key?
  var callbackQueues: [CallbackQueue] = []
  private(set) var violations: Set<String> = []
  var deliveries = 0

  // What the laws look at.
  private var bodies = 0
  private var askings: [Asking] = []
  /// How often the origin was asked for a key.
  private var asks: [Key: Int] = [:]
  /// Keys whose exchanges may run beside each other.
  var mayBeBeside: Set<Key> = []
  /// Keys whose lease has been given back, since there was nothing to store.
  var asksAlone: Set<Key> = []
  /// When a 304 that confirmed a body was asked for.
  private(set) var confirmed: [String: Int64] = [:]
  /// How often the store could write by the time that a body was handed over to be written, and that it was asked for.
  private(set) var turnsWritten: [String: Int] = [:]
  private var turnsAsked: [String: Int] = [:]
  /// When the origin began to answer with a body.
  var answeredAt: [String: Int64] = [:]
  /// When another process last signed an account out, and how often the store could write by then.
  private var signedOutElsewhere: [String: (began: Int64, ended: Int64, turns: Int)] = [:]
  /// Where an exchange, of whichever account, has found its answer in another's row.
  private(set) var followed: Set<String> = []
  /// When a 304 last confirmed something of a key.
  var confirmedAt: [Key: Int64] = [:]
  /// How often each account was signed out: begun, and done.
  private var generations: [String: Int] = [:]
  private(set) var signedOut: [String: Int] = [:]
  private(set) var removed: [Key: (began: Int64, ended: Int64)] = [:]
  private var kept: [Key: (started: Int64, text: String)] = [:]
  private var mayHaveGone: Set<Key> = []
  /// Whose row is being committed, and whether a queue of the store's was held up.
  private var leaseDue: Key?
  private var wasHeldUp = false
  private(set) var isClosed = false
  /// Whether only what is told to take time does.
  var isQuick: Bool { slowness == 0 && !wasHeldUp }

  init(_ seed: UInt64, on stage: Stage, isTraced: Bool) {
    (self.seed, self.stage, self.isTraced) = (seed, stage, isTraced)
  }

  func log(_ text: @autoclosure () -> String) {
    if isTraced { print(stage.steps, stage.now / 1_000, text()) }
  }

  func fail(_ law: String) {
    log("BROKEN: \(law)")
    violations.insert(law)
  }

  // MARK: The play

  private func request(_ key: Key, isPinning: Bool = false) -> DataService.Request {
    guard let url = URL(string: "http://s\(seed).test\(key.path)") else { fatalError("no URL") }
    var request = DataService.Request(url, fields: ["X-Account": key.account])
    if !key.account.isEmpty { request.account = .named("\(key.account)\(seed)") }
    request.limits.retries = seed % 3 == 0 ? 2 : 0
    request.isPinned = isPinning
    return request
  }

  func play() {
    stage.scene = self
    defer { stage.scene = nil }
    stage.advanceToFull(7_200_000_000_000)
    // The store's maintenance, which is due every minute, takes as long as all else.
    let isMaintained = seed % 8 == 0
    if !isMaintained { _ = stage.service.store.takeMaintenanceTurn(at: stage.now) }
    for key in keys where stage.chance(50) {
      let user = User(self, users.count, key, .freshOnly, .streamed)
      users.append(user)
      stage.act { user.begin(request(key)) }
    }
    run(until: 5_000)
    stage.advance(by: stage.oneOf([100_000_000, isMaintained ? 3_600_000_000_000 : 20_000_000_000]))
    isPrelude = false
    asks = [:]
    (isOrdered, slowness) = (stage.chance(50), stage.oneOf([0, 0, 2, 8]))
    plot = makePlot()
    let begun = stage.steps
    while stage.steps - begun < Self.longest {
      while let next = plot.last, next.step <= stage.steps - begun { actNext() }
      if isTense { actInTension() }
      if stage.step() {
        checkUnwanted()
        continue
      }
      guard actNext() else { break }
    }
    if stage.steps - begun >= Self.longest { fail("it does not end") }
    while !stage.otherCaller.isFree { stage.letOtherGoOn() }
    checkEnd()
    (users, callbackQueues, plot) = ([], [], [])
  }

  /// Lets a caller act, or the disk come to a stop, in the middle of what makes a moment tense.
  private func actInTension() {
    isTense = false
    if stage.chance(6) {
      log("the writes are held up")
      wasHeldUp = true
      stage.hold(stage.queueCount - 1, for: Int64(stage.oneOf([240, 260, 5_200])) * 1_000_000)
    }
    if let key = justConfirmed {
      justConfirmed = nil
      if stage.chance(4) {
        removeElsewhere(key)
        for user in users where user.key == key && user.mayWant { stage.act { user.cancel() } }
      }
    }
    if stage.chance(30) { actNext() }
  }

  /// What comes next in the plot happens now, whether it is due or not.
  /// - Returns: Whether anything was left.
  @discardableResult private func actNext() -> Bool {
    guard let next = plot.popLast() else { return false }
    stage.act(next.act)
    return true
  }

  private func run(until limit: Int) {
    let begun = stage.steps
    while stage.steps - begun < limit, stage.step() {}
  }

  /// What the callers do, and at which step.
  private func makePlot() -> [(step: Int, act: () -> Void)] {
    var plot: [(step: Int, act: () -> Void)] = []
    let policies: [FetchPolicy] = [
      .storedThenFresh, .storedThenFresh, .storedThenFresh(ifOlderThan: .seconds(9)), .storedOnly, .freshOnly,
      .http,
      .freshElseStored(), .storedElseFresh(maxAge: .seconds(9)),
      .storedElseFresh(maxAge: .seconds(9), within: .milliseconds(20)),
      .freshElseStored(within: .milliseconds(1)), .freshElseStored(within: .milliseconds(100)),
    ]
    for number in users.count..<(users.count + 2 + stage.below(4)) {
      let key = stage.chance(60) ? keys[1] : stage.oneOf(keys)
      let user = User(
        self, number, key, stage.oneOf(policies),
        stage.oneOf([.streamed, .decoded, .decoded, .queued, .sequence]))
      users.append(user)
      if user.policy == .freshOnly || user.policy == .http { mayBeBeside.insert(key) }
      let step = stage.below(120)
      plot.append((step, { [self] in begin(user) }))
      guard stage.chance(45) else { continue }
      // The network thread may not have heard of it by then.
      let delay = stage.chance(10) ? 0 : stage.below(stage.chance(50) ? 40 : 200)
      plot.append((step + delay, { user.cancel() }))
    }
    if stage.chance(11) { plot.append((stage.below(200), { [self] in signOut("a") })) }
    if stage.chance(3) { plot.append((stage.below(200), { [self] in signOutElsewhere("a") })) }
    if stage.chance(20) {
      let key = stage.oneOf(keys)
      plot.append((stage.below(200), { [self] in remove(key) }))
    }
    for _ in 0..<stage.oneOf([0, 0, 1, 2]) {
      let (queue, length) = (
        stage.below(stage.queueCount), stage.oneOf([15, 21, 60, 240, 260, 1_000, 4_900, 7_000])
      )
      plot.append(
        (
          stage.below(150),
          { [self] in
            log("queue \(queue) is held for \(length) ms")
            wasHeldUp = true
            stage.hold(queue, for: Int64(length) * 1_000_000)
          }
        ))
    }
    // The scene that opens the store for the others leaves it open.
    if seed > 0, stage.chance(2) { plot.append((100 + stage.below(150), { [self] in close() })) }
    return plot.enumerated().sorted { ($0.element.step, $0.offset) > ($1.element.step, $1.offset) }.map(
      \.element)
  }

  /// Now and then on another thread than the driver's, so that the network thread is quicker than a caller who is in the
  /// middle of its own call.
  private func begin(_ user: User) {
    let request = request(user.key, isPinning: user.isPinning)
    guard user.form == .decoded, stage.otherCaller.isFree, stage.isAtCaller, stage.chance(12) else {
      return user.begin(request)
    }
    stage.actBeside(for: stage.oneOf([0, 1, 30, 270, 400, 1_000]) * 1_000_000) { user.begin(request) }
  }

  func signOut(_ account: String) {
    for key in keys where key.account == account { _ = (mayBeBeside.insert(key), mayHaveGone.insert(key)) }
    _ = stage.perform { [self] in
      let generation = generations[account, default: 0] + 1
      generations[account] = generation
      log("\(account) is being signed out")
      do {
        try await stage.service.signOut(.named("\(account)\(seed)"))
        signedOut[account] = generation
        log("\(account) is signed out")
      } catch {
        log("the sign-out failed: \(error)")
      }
    }
  }

  /// Another process signs the account out, which this one learns from the store.
  func signOutElsewhere(_ account: String) {
    for key in keys where key.account == account { _ = (mayBeBeside.insert(key), mayHaveGone.insert(key)) }
    log("\(account) is signed out elsewhere")
    let (began, turns) = (stage.instant, stage.turnsOfWriter)
    doElsewhere { [other = stage.other, seed] in try await other.signOut(accountName: "\(account)\(seed)") }
    signedOutElsewhere[account] = (began, stage.instant, turns)
  }

  /// Another process removes what is stored.
  private func removeElsewhere(_ key: Key) {
    _ = (mayBeBeside.insert(key), mayHaveGone.insert(key))
    guard let selection = try? stage.service.selection(for: request(key)) else { return }
    log("\(key.account)\(key.path) is removed elsewhere")
    let started = StartMark(boot: "driven", nanoseconds: stage.instant)
    doElsewhere { [other = stage.other] in try await other.remove(selection, started: started) }
  }

  /// Returns once another process is done.
  private func doElsewhere(_ work: @escaping @Sendable () async throws -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      try? await work()
      done.signal()
    }
    done.wait()
  }

  private func remove(_ key: Key) {
    _ = (mayBeBeside.insert(key), mayHaveGone.insert(key))
    let request = request(key)
    _ = stage.perform { [self] in
      let began = stage.instant
      log("\(key.account)\(key.path) is being removed")
      do {
        try await stage.service.remove(stage.service.selection(for: request))
        removed[key] = (began, stage.instant)
        if stage.chance(60) {
          // It may not have the answer of an exchange that is still under way.
          let user = User(self, users.count, key, .storedThenFresh, .decoded)
          users.append(user)
          stage.act { user.begin(request) }
        }
        log("\(key.account)\(key.path) is removed, from \(began) to \(stage.instant)")
      } catch {
        log("the removal failed: \(error)")
      }
    }
  }

  private func close() {
    isClosed = true
    log("the service is being closed")
    _ = stage.perform { [service = stage.service] in await service.close() }
  }

  /// Lets others pass a caller who is in the middle of its own call.
  func beOvertaken() {
    guard stage.isAtCaller, overtakings < 2, stage.chance(30) else { return }
    overtakings += 1
    if stage.chance(40) { actNext() }
    for _ in 0..<stage.below(stage.oneOf([20, 60, 300])) where stage.step() {}
    overtakings -= 1
  }

  // MARK: The origin

  func newBody(for key: Key) -> String {
    bodies += 1
    asks[key, default: 0] += 1
    let text =
      "\(bodies);\(key.account);\(key.path);\(generations[key.account, default: 0]);\(stage.instant)"
    turnsAsked[text] = stage.turnsOfWriter
    return text
  }

  func ask(_ key: Key) -> Asking {
    let asking = Asking(key, generations[key.account, default: 0])
    askings.append(asking)
    if !mayBeBeside.contains(key), !asksAlone.contains(key),
      askings.count(where: { $0.key == key && !$0.isCancelled }) > 1
    {
      fail("two exchanges for one key")
    }
    return asking
  }

  func asked(_ asking: Asking) { askings.removeAll { $0 === asking } }

  func heard(_ event: DataService.Event) {
    guard case .followed = event.kind, let url = URL(string: event.url) else { return }
    log("the exchange of \(url.path) follows another")
    followed.insert(url.path)
  }

  func confirm(_ body: String, at asked: Int64) { confirmed[body] = max(asked, confirmed[body] ?? 0) }

  // MARK: Laws

  /// Nobody's exchange goes on, once the thread has heard of all.
  private func checkUnwanted() {
    guard !askings.isEmpty, stage.isThreadIdle else { return }
    for asking in askings where !asking.isCancelled {
      if !users.contains(where: { $0.key == asking.key && $0.mayWant }) {
        fail("an exchange goes on that nobody wants")
      }
      if asking.generation < signedOut[asking.key.account] ?? 0 {
        fail("an exchange of a signed-out account goes on")
      }
    }
  }

  /// What is handed over to be written or confirmed.
  func handedOver(_ data: Data) {
    let body = Body(data)
    let isNew = confirmed[body.text] == nil
    log("to be \(isNew ? "written" : "confirmed"): \(body.text)")
    if !users.contains(where: { $0.key == body.key && $0.mayWant }) {
      fail("a row is written that nobody wants")
    }
    leaseDue = body.key
    isTense = true
    guard isNew else {
      justConfirmed = body.key
      return
    }
    turnsWritten[body.text] = stage.turnsOfWriter
    let isAlone = !mayBeBeside.contains(body.key) && !asksAlone.contains(body.key)
    if isAlone, !followed.contains(body.key.path),
      users.contains(where: { $0.judges(body) && $0.refuses(body) })
    {
      fail("a body is written that is refused by a load which has left")
    }
    if users.contains(where: { $0.refused.contains(body.text) }) {
      fail("a body is written that a load has refused")
    }
  }

  /// The lease is held until the row is committed.
  func checkLease() {
    guard let key = leaseDue else { return }
    leaseDue = nil
    // Who has waited for one that ended without a row goes alone.
    guard asks[key] == 1 else { return }
    if slowness == 0, !wasHeldUp, !mayBeBeside.contains(key), !asksAlone.contains(key),
      stage.service.store.locksForTesting == 0
    {
      fail("a lease is given back before the commit")
    }
  }

  /// Whether what was handed over to be written cannot have been written by now.
  func isUnwritten(_ body: Body) -> Bool { turnsWritten[body.text] == stage.turnsOfWriter }

  /// A sign-out elsewhere that lies between a question and its answer is learnt from the store, which knew the account
  /// before it.
  func checkSignOutElsewhere(_ body: Body) {
    guard isQuick, let signOut = signedOutElsewhere[body.key.account], body.asked < signOut.began,
      answeredAt[body.text, default: 0] > signOut.ended, turnsAsked[body.text, default: .max] < signOut.turns
    else { return }
    fail("an answer to an account was delivered that had been signed out elsewhere")
  }

  func noteKept(_ body: Body, started: Int64) {
    if started > kept[body.key]?.started ?? 0 { kept[body.key] = (started, body.text) }
  }

  private func checkEnd() {
    if !stage.service.isIdle { fail("the service is not idle at the end") }
    if stage.service.store.locksForTesting != 0 { fail("a lease is not given back") }
    for user in users { user.checkEnd() }
    guard !isClosed else { return }
    for key in keys {
      guard let stored = try? stage.service.key(for: request(key)),
        let found = try? stage.service.store.lookupNow(stored)
      else { return fail("the store does not answer at the end") }
      // Under `http` another may be stored beside the last good one.
      let rows = found.rows.filter(\.isGood)
      let row = rows.first
      if rows.count > 1 { fail("a request has two rows") }
      if row == nil, kept[key] != nil, !mayHaveGone.contains(key) { fail("what was kept is not stored") }
      guard let row else { continue }
      if row.isPinned, !users.contains(where: { $0.key == key && $0.mayPin }) {
        fail("a row is pinned for a load that was cancelled before anything was done for it")
      }
      let body = Body(row.body.firstChunk)
      log("stored in the end: \(body.text) of an exchange at \(row.started.nanoseconds)")
      if let kept = kept[key], row.started.nanoseconds < kept.started {
        fail("an older answer has replaced a newer one")
      }
      if let kept = kept[key], row.started.nanoseconds == kept.started, body.text != kept.text {
        fail("another body is stored than was kept")
      }
      if body.generation < signedOut[key.account] ?? 0 { fail("something of a signed-out account is stored") }
      if let removal = removed[key], max(body.asked, confirmed[body.text] ?? 0) < removal.began {
        fail("what was removed is stored")
      }
    }
  }
}
