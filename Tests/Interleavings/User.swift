import DataService
import PlatformFoundation

/// A caller with one load, and what the laws say of its deliveries.
final class User: @unchecked Sendable {
  /// How it takes its deliveries.
  enum Form: CaseIterable { case streamed, decoded, queued, sequence }
  private struct Refused: Error {}

  let scene: Scene
  let number: Int
  let key: Key
  let policy: FetchPolicy
  let form: Form
  /// Whether its decoder refuses some bodies, always the same ones.
  let isPicky: Bool
  let cancelsInCallback: Bool
  let isPinning: Bool
  private(set) var beganAt = Int64.max
  /// When that was, in virtual time.
  private var beganNow = Int64.max
  private(set) var cancelledAt: Int64?
  private(set) var isFinished = false
  private(set) var hasEnded = false
  private(set) var refused: [String] = []
  /// Of these what was no stored row's.
  private var refusedAnswers: [String] = []
  /// When it left an exchange that fills the store without it.
  private var leftAt: Int64?
  /// The answer that was delivered while it was still being written.
  private var late: Body?
  /// How often the network thread had done something when a caller's began it, and whether it may have heard of it by
  /// its cancel.
  private var turnsBegun = -1
  private var isHeard = true
  private var stored = 0
  private var terminal = 0
  private var cancelLoad: (() -> Void)?

  init(_ scene: Scene, _ number: Int, _ key: Key, _ policy: FetchPolicy, _ form: Form) {
    (self.scene, self.number, self.key, self.policy, self.form) = (scene, number, key, policy, form)
    isPicky = form != .streamed && scene.stage.chance(45)
    cancelsInCallback = scene.stage.chance(8)
    isPinning = scene.stage.chance(6)
  }

  var hasBegun: Bool { beganAt < .max }
  /// Whether its load may be over while it still wants its answer stored.
  private var mayLeave: Bool {
    let isKnown = form == .streamed || form == .decoded
    return ![.storedThenFresh, .storedOnly, .freshOnly].contains(policy) && (hasEnded || !isKnown)
  }
  /// Whether its answer may be stored now.
  var mayWant: Bool { hasBegun && (cancelledAt == nil && !isFinished || mayLeave) }

  /// Whether its row may be pinned for it.
  var mayPin: Bool { isPinning && hasBegun && isHeard }

  /// Whether it was waiting for this body when it left.
  func judges(_ body: Body) -> Bool {
    guard body.key == key, form == .decoded, cancelledAt == nil, let leftAt else { return false }
    return beganAt < body.asked && body.asked < leftAt
  }

  func refuses(_ body: Body) -> Bool { isPicky && body.number % 3 == number % 3 }

  // MARK: What it does

  func begin(_ request: DataService.Request) {
    let stage = scene.stage
    (beganAt, beganNow) = (stage.instant, stage.now)
    turnsBegun = stage.isAtCaller ? stage.turnsOfThread : -1
    scene.log("\(number) begins: \(key.account)\(key.path) \(policy) \(form)\(isPicky ? " picky" : "")")
    let service = stage.service
    let ended: @Sendable () -> Void = {
      self.hasEnded = true
      if self.cancelledAt != nil { self.scene.fail("the end was called after cancel") }
    }
    let load: DataService.Load
    switch form {
    case .streamed:
      load = service.start(
        request, policy: policy, progress: takeProgress,
        deliver: { self.take($0.map { $0.map { $0.whole ?? Data() } }) },
        ended: ended)
    case .decoded:
      load = service.start(
        request, policy: policy, progress: takeProgress, decode: decode, deliver: take, ended: ended)
    case .queued:
      let queue = CallbackQueue()
      scene.callbackQueues.append(queue)
      load = service.load(
        request, policy: policy, queue: queue.queue, progress: takeProgress, decode: decode, deliver: take)
    case .sequence:
      let task = stage.perform {
        let deliveries = service.deliveries(for: request, policy: self.policy, decode: self.decode)
        // Between the end of `next()` and this body others may pass: there the task itself is asked.
        for await delivery in deliveries where !Task.isCancelled { self.take(delivery) }
        self.finish()
      }
      cancelLoad = { task.cancel() }
      return
    }
    cancelLoad = { load.cancel() }
    _ = stage.perform {
      await load.finished()
      self.finish()
    }
  }

  func cancel() {
    // A callback that runs before the call has returned has no handle yet.
    guard cancelledAt == nil, let cancelLoad else { return }
    cancelLoad()
    cancelledAt = scene.stage.instant
    isHeard = scene.stage.turnsOfThread != turnsBegun
    scene.log("\(number) has cancelled")
  }

  private func finish() {
    isFinished = true
    scene.log("\(number) is finished")
    if cancelledAt == nil, let late, scene.isUnwritten(late) {
      scene.fail("a load was over before its answer was written, or given up")
    }
  }

  // MARK: What it is told

  private func decode(_ response: DataService.Response<Data>) throws -> Data {
    let body = Body(response.value)
    scene.isTense = true
    let other = scene.stage.otherCaller
    if other.isCurrent, scene.stage.chance(80) { other.stop() }
    scene.beOvertaken()
    guard refuses(body) else { return response.value }
    refused.append(body.text)
    if !response.head.freshness.isStored { refusedAnswers.append(body.text) }
    // Where nothing was stored, those who waited for the lease go alone.
    scene.asksAlone.insert(key)
    scene.log("\(number) refuses \(body.text)")
    throw Refused()
  }

  private func takeProgress(_ progress: DataService.TransferProgress) {
    if cancelledAt != nil { scene.fail("progress was reported after cancel") }
  }

  private func take(_ delivery: DataService.Delivery<Data>) {
    scene.deliveries += 1
    defer {
      scene.beOvertaken()
      if cancelsInCallback { cancel() }
      // The thread of a caller is as quick as the network thread.
      if terminal > 0, !scene.stage.isAtCaller, !scene.stage.otherCaller.isCurrent, scene.stage.chance(50) {
        scene.stage.letOtherGoOn()
      }
    }
    if cancelledAt != nil { scene.fail("something was delivered after cancel") }
    if terminal > 0 { scene.fail("something followed the terminal delivery") }
    checkTime()
    switch delivery {
    case .stored(let response):
      scene.log("\(number) gets stored \(Body(response.value).text)")
      if stored > 0 { scene.fail("stored twice") }
      stored += 1
      check(response)
    case .fresh(let response, _):
      terminal += 1
      scene.log(
        "\(number) gets fresh \(Body(response.value).text) \(response.kept), "
          + "of an exchange at \(response.head.started?.nanoseconds ?? 0)")
      takeFresh(response)
    case .failure(let error, let lastKnown):
      terminal += 1
      scene.log("\(number) gets \(error.kind.name): \(error.message)")
      if let lastKnown { check(lastKnown) }
      if error.kind == .timeout(.deadline) {
        leftAt = scene.stage.instant
        // Whose exchange goes on without it.
        if !key.account.isEmpty, scene.stage.chance(4) { scene.signOut(key.account) }
      }
      if let answer = error.response { scene.checkSignOutElsewhere(Body(answer.value)) }
      if error.kind == .cancelled { scene.fail("a load that nobody cancelled was told so") }
    }
  }

  /// Where nothing holds up the store, a deadline is kept within the time that a delivery may wait for it.
  private func checkTime() {
    let isFirst = stored == 0 && terminal == 0
    // A decoder or a queue of the caller's may be late by itself.
    guard isFirst, scene.isQuick, form == .streamed, let deadline = Self.deadlines[policy] else { return }
    if scene.stage.now - beganNow > (deadline + 300) * 1_000_000 { scene.fail("a deadline was not kept") }
  }

  /// In milliseconds.
  private static let deadlines: [FetchPolicy: Int64] = [
    .storedElseFresh(maxAge: .seconds(9), within: .milliseconds(20)): 20,
    .freshElseStored(within: .milliseconds(1)): 1, .freshElseStored(within: .milliseconds(100)): 100,
  ]

  private func takeFresh(_ response: DataService.Response<Data>) {
    let body = Body(response.value)
    scene.checkSignOutElsewhere(body)
    guard response.status == 200 else { return }
    if response.kept == .no(.busy) { late = body }
    check(response)
    if policy == .freshOnly, max(body.asked, scene.confirmed[body.text] ?? 0) < beganAt {
      scene.fail("fresh-only got what was asked for before")
    }
    if response.kept == .yes, let started = response.head.started {
      scene.noteKept(body, started: started.nanoseconds)
    }
  }

  private func check(_ response: DataService.Response<Data>) {
    guard response.status == 200 else { return }
    let body = Body(response.value)
    if body.key != key { scene.fail("another request's answer was delivered") }
    if refused.contains(body.text) { scene.fail("a body that the load refused was delivered to it") }
    if form == .streamed || form == .decoded, body.generation < scene.signedOut[body.key.account] ?? 0 {
      scene.fail("something of a signed-out account was delivered")
    }
    let asked = max(body.asked, scene.confirmed[body.text] ?? 0)
    if let removal = scene.removed[key], beganAt > removal.ended, asked < removal.began {
      scene.fail("a load that began after a removal got what was asked for before")
    }
  }

  // MARK: In the end

  func checkEnd() {
    // The load has the callbacks, which have this.
    cancelLoad = nil
    guard hasBegun else { return }
    if !isFinished { scene.fail("finished() did not return") }
    guard cancelledAt == nil else { return }
    let isEnough = stored == 1 && policy != .storedThenFresh && policy != .freshOnly
    if terminal != 1, !isEnough { scene.fail("no terminal delivery") }
    if form == .streamed || form == .decoded, !hasEnded { scene.fail("the end was not called") }
    // Where an exchange has waited for another's lease, or a 304 has confirmed what another has replaced, the answer is
    // another's row.
    if scene.confirmedAt[key] == nil, !scene.followed.contains(key.path),
      refusedAnswers.contains(where: { scene.turnsWritten[$0] != nil })
    {
      scene.fail("a body that a load refused was written")
    }
  }
}
