internal import CacheStore
package import DataService
internal import Guards
internal import PlatformFoundation
internal import Synchronization

/// A fleet's tier in one service: what is asked, shared and counted. The tier's engine knows the protocol alone.
final class Fleet: Upstream {
  /// What an exchange has of the tier.
  private struct Turn: Sendable {
    var question: TierQuestion?
    /// `nil` where the tier gave none.
    var ticket: TierTicket?
    /// Why nothing is offered, as far as that is known without the answer.
    var unshared: DataService.UnsharedReason?
    let asked: Sharing.Asked
  }

  private struct State {
    var isAttached = false
    /// How much is under way that no delivery waits for, and who waits for the end of it.
    var underWay = 0
    var whenIdle: FirstValue<Void>?
    /// What is not written beside the store yet.
    var counts = TierCounts()
  }

  let name = "the tier"
  private let tier: any SecondTier
  private let host: UpstreamHost
  private let state = Guarded(State())
  /// Whether the tier was ever used. Until then nothing is under way or counted, and what the store answers looks no
  /// further.
  private let isUsed = Atomic(false)

  init(_ tier: any SecondTier, host: UpstreamHost) { (self.tier, self.host) = (tier, host) }

  /// The tier, given what it works with before its first use.
  ///
  /// Called on the service's network thread alone, so that no caller gets one that is still being attached.
  private var attached: any SecondTier {
    isUsed.store(true, ordering: .releasing)
    let isFirst = state.withLock { state in
      defer { state.isAttached = true }
      return !state.isAttached
    }
    if isFirst {
      tier.attach(
        to: TierHost(
          timekeeper: host.timekeeper, silence: StoreSilenceMark(host.store), trace: host.trace,
          warn: host.warn,
          takesWarning: { [host] in
            host.store.takesUpstreamWarning(at: host.timekeeper.bootNanoseconds)
          }))
    }
    return tier
  }

  private func asked(_ question: UpstreamQuestion) -> Sharing.Asked {
    var asked = Sharing.Asked()
    asked.method = question.request.method
    asked.isRead = question.request.isRead
    asked.isPassThrough = question.isPassThrough
    asked.keepsAnyway = question.request.keepsAnyway
    asked.account = question.key.account
    asked.fields = question.fields
    asked.isPlainHTTP = question.isPlainHTTP
    asked.hasSecretURL = question.hasSecretURL
    asked.connection = question.request.connection
    asked.secrets = host.secrets
    return asked
  }

  /// The request in the terms that all machines agree on, without its secrets.
  private func tierQuestion(_ question: UpstreamQuestion) -> TierQuestion {
    var fields = question.fields
    fields.removeAll(where: host.secrets.isSecretField)
    // Other parts of the key are those of this machine's connection: with them nothing is shared, or they only carry
    // what TLS protects.
    let extra = RequestKey.extraParts(question.key.extra).filter {
      ["host", "no-location"].contains($0.name)
    }
    return TierQuestion(
      account: question.key.account, target: question.key.target, method: question.key.method,
      extra: extra.map { RequestKey.extraPart($0.name, $0.value) }.joined(separator: " "),
      body: question.content, fields: fields, responder: question.responder)
  }

  // MARK: - Asking

  func turn(_ question: UpstreamQuestion, until deadline: Int64) async -> UpstreamTurn {
    var mine = Turn(asked: asked(question))
    // Given what it works with first: one that cannot be used says so here.
    let tier = attached
    // A load that wants nothing older cannot use a row of the tier, and must not wait for a ticket.
    if !question.mayFollow {
      mine.unshared = .policy
    } else if case .no(let reason) = Sharing.verdict(mine.asked, tier.terms) {
      mine.unshared = reason
    }
    if let reason = mine.unshared {
      host.trace("not shared: \(reason.text)")
      return UpstreamTurn(context: mine)
    }
    let question = tierQuestion(question)
    mine.question = question
    let begun = host.timekeeper.bootNanoseconds
    let answer = await tier.ask(question)
    count(TierCounts(asked: 1, waitedMicroseconds: (host.timekeeper.bootNanoseconds - begun) / 1_000))
    switch answer {
    case .silent(let reason):
      host.trace("the tier is silent: \(reason)")
      count(TierCounts(silent: 1))
      mine.unshared = .silent
      return UpstreamTurn(context: mine)
    case .answered(let ticket, let row, let pause):
      mine.ticket = ticket
      var turn = UpstreamTurn(context: mine)
      turn.started = ticket.bootNanoseconds
      if let pause, pause > 0 {
        host.trace("another machine was asked to wait")
        turn.pause = pause
      }
      if let row {
        turn.candidate = candidate(row, to: question, until: deadline)
      } else {
        host.trace("the tier has nothing")
      }
      return turn
    }
  }

  private func candidate(
    _ row: TierRow, to question: TierQuestion, until deadline: Int64
  ) -> UpstreamCandidate? {
    guard row.length <= tier.terms.largestBody, Sharing.mayShare(vary: row.vary, host.secrets) else {
      host.trace("the tier's response is of no use here")
      return nil
    }
    var head = row.head
    head.started = head.started.odd
    return UpstreamCandidate(head: head, vary: row.vary, length: row.length, checksum: row.checksum) {
      [self] in
      if let body = row.body { return body }
      return await body(of: row, to: question, until: deadline)
    }
  }

  /// The body of a row, which did not come with it. At most half of the time that is left goes to it: the origin needs
  /// the rest.
  private func body(of row: TierRow, to question: TierQuestion, until deadline: Int64) async -> Data? {
    let fetching = Task(executorPreference: host.thread) { [tier] in await tier.body(of: row, for: question) }
    let left = max(0, deadline - host.timekeeper.bootNanoseconds)
    let timer = host.timekeeper.after(.nanoseconds(left / 2)) { fetching.cancel() }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await fetching.value
    } onCancel: {
      fetching.cancel()
    }
  }

  // MARK: - Sharing

  func verdict(on answer: UpstreamAnswer, in turn: UpstreamTurn?) -> DataService.Shared {
    let mine = turn?.context as? Turn
    if let reason = mine?.unshared { return .no(reason) }
    // What another exchange has stored is its own to offer.
    guard let mine, mine.ticket != nil, answer.isOwn else {
      return .no(answer.isShareable ? .followed : .passThrough)
    }
    guard answer.isGood else { return .no(.status) }
    var answered = Sharing.Answered()
    answered.status = answer.status
    answered.fields = answer.fields
    answered.length = answer.length
    answered.isNoStoreChain = answer.path.isNoStoreChain
    answered.wasPlainHTTP = answer.path.wasPlainHTTP
    answered.leftHostTemporarily = answer.path.leftHostTemporarily
    answered.hasSecretURL = answer.path.hasSecretURL
    let verdict = Sharing.verdict(mine.asked, answered, tier.terms)
    guard verdict == .yes else { return verdict }
    return answer.isKept ? .yes : .no(.notKept)
  }

  /// What a store does not keep of an answer, as its cookies and the redirects to it, is left out.
  func verdict(on row: StoredResponse?, to question: UpstreamQuestion) -> DataService.Shared {
    let asked = asked(question)
    guard let row else { return Sharing.verdict(asked, tier.terms) }
    if row.isUnconfirmed { return .no(.local) }
    var answered = Sharing.Answered()
    answered.status = row.status
    answered.fields = row.fields
    answered.wasPlainHTTP = row.responseURL?.hasPrefix("http:") ?? asked.isPlainHTTP
    answered.length = row.body.length
    return Sharing.verdict(asked, answered, tier.terms)
  }

  func offer(
    _ head: ReceivedHead, vary: String, in turn: UpstreamTurn,
    body: @escaping @Sendable (_ limit: Int64) async throws(DataServiceError) -> Data
  ) {
    guard let mine = turn.context as? Turn, let question = mine.question, let ticket = mine.ticket else {
      return
    }
    work { [self] in
      let data: Data
      do throws(DataServiceError) { data = try await body(tier.terms.largestBody) } catch {
        return host.trace("not offered: the body cannot be read back")
      }
      let age = Freshness.currentAge(
        fields: head.fields, requestedAt: head.requestedAt, receivedAt: head.receivedAt,
        now: host.timekeeper.wallMilliseconds)
      let offer = TierOffer(question: question, ticket: ticket, head: head, vary: vary, age: age, body: data)
      switch await attached.offer(offer) {
      case .stored:
        count(TierCounts(offered: 1))
        host.trace("offered to the tier")
      case .superseded: host.trace("the tier has a newer response")
      case .refused(let reason): host.trace("the tier did not take it: \(reason)")
      }
    }
  }

  func share(_ pause: Pause, of responder: String, in turn: UpstreamTurn) {
    guard let mine = turn.context as? Turn, !tier.terms.isReadOnly, mine.ticket != nil, mine.unshared == nil,
      let question = mine.question, question.responder == responder
    else { return }
    work { [self] in await attached.pause(pause.milliseconds, question) }
  }

  // MARK: - Removal and sign-out

  func invalidate(_ targets: [UpstreamTarget], isRemoval: Bool) -> Task<Int, Never> {
    // Accounts that are not shared have nothing in the tier.
    let questions = targets.filter { tier.terms.mayHave(of: $0.account) }.map {
      TierQuestion(account: $0.account, target: $0.target, responder: $0.responder)
    }
    guard !questions.isEmpty, isRemoval || !tier.terms.isReadOnly else { return Task { 0 } }
    return work { [self] in
      var missing = 0
      for question in questions where await !attached.invalidate(question) {
        missing += 1
        if !isRemoval { host.trace("the tier has not confirmed that its rows are void") }
      }
      return missing
    }
  }

  func signOut(_ account: String) async -> Bool? {
    // Responses of no account stay shared.
    guard !account.isEmpty, tier.terms.mayHave(of: account), !tier.terms.isReadOnly else { return nil }
    let task = Task(executorPreference: host.thread) { [self] in await attached.signOut(account) }
    let isConfirmed = await task.value
    if !isConfirmed {
      host.warn(
        DataService.Warning(
          kind: .other, message: "the tier has not confirmed that it has nothing of \(account) any more",
          remedy: "sign out again once it can be asked"))
    }
    return isConfirmed
  }

  func examine() async -> [StoreFinding] {
    await Task(executorPreference: host.thread) { [self] in await attached.examine() }.value.map {
      StoreFinding("tier", $0.severity, "\($0.subject): \($0.message)")
    }
  }

  // MARK: - What is under way

  var isIdle: Bool { !isUsed.load(ordering: .acquiring) || state.withLock { $0.underWay == 0 } }

  /// Does work that no delivery waits for.
  @discardableResult private func work<Value: Sendable>(
    _ work: @escaping @Sendable () async -> Value
  ) -> Task<Value, Never> {
    isUsed.store(true, ordering: .releasing)
    state.withLock { $0.underWay += 1 }
    return Task(executorPreference: host.thread) { [self] in
      let value = await work()
      let idle = state.withLock { state in
        state.underWay -= 1
        return state.underWay == 0 ? state.whenIdle : nil
      }
      idle?.set(())
      return value
    }
  }

  func close() async {
    guard isUsed.load(ordering: .acquiring) else { return }
    let over = FirstValue<Void>()
    let isIdle = state.withLock { state in
      state.whenIdle = over
      return state.underWay == 0
    }
    if !isIdle {
      let timer = host.timekeeper.after(host.goodbye) { over.set(()) }
      await over.value
      timer.cancel()
    }
    if state.withLock({ $0.isAttached }) { tier.close() }
    leaveCounts()
  }

  // MARK: - Counts

  func noteStored() { count(TierCounts(stored: 1)) }

  private func count(_ counts: TierCounts) { state.withLock { $0.counts += counts } }

  func leaveCounts() {
    guard isUsed.load(ordering: .acquiring) else { return }
    let counts = state.withLock { state in
      defer { state.counts = TierCounts() }
      return state.counts
    }
    host.store.add(counts)
  }
}

extension DataService.Tier {
  /// A tier whose engines are made so.
  package init(makeEngine: @escaping @Sendable () -> any SecondTier) {
    self.init { host in Fleet(makeEngine(), host: host) }
  }
}
