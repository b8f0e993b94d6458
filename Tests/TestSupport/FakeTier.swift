#if !PORTABLE
  package import CacheStore
  package import DataService
  internal import PlatformFoundation
  package import RedisTier
  internal import Synchronization

  /// A second tier in memory. Each service with an engine of it is a machine of the fleet.
  ///
  /// Its clock stands still unless a test moves it; each machine has its own, which it is never compared with.
  package final class FakeTier: Sendable {
    /// A row as it was offered.
    private struct Row {
      var offer: TierOffer
      var offeredAt: Int64
      var values: [String: [String]]
    }

    private struct State {
      var now: Int64 = 1_000_000
      var lastTicket: Int64 = 0
      var rows: [String: [Row]] = [:]
      var tombstones: [String: Int64] = [:]
      var silence: String?
      var refusal: String?
      var sendsBodies = true
      var loses = false
      var cutsBodies = false
      var questions: [TierQuestion] = []
      var offers: [TierOffer] = []
      var whileAsked: (@Sendable () async -> Void)?
      var whileOffered: (@Sendable () async -> Void)?
      var whileSignedOut: (@Sendable () async -> Void)?
      var hosts = 0
      var findings: [StoreFinding] = []
      var pauses: [String: Int64] = [:]
      var signedOut: [String] = []
    }

    private let state = Mutex(State())

    /// An empty tier that answers.
    package init() {}

    /// An engine for one more machine.
    package func machine(_ terms: TierTerms = TierTerms()) -> DataService.Tier {
      DataService.Tier { self.engine(terms) }
    }

    /// What answers for it there.
    package func engine(_ terms: TierTerms = TierTerms()) -> any SecondTier {
      FakeTierEngine(tier: self, terms: terms)
    }

    // MARK: What a test sets

    /// Moves the tier's clock.
    package func advance(by seconds: Int64) { state.withLock { $0.now += seconds * 1_000_000 } }
    /// Why it does not answer; `nil` lets it answer.
    package func setSilent(because reason: String?) { state.withLock { $0.silence = reason } }
    /// Why it takes nothing; `nil` lets it take.
    package func refuseOffers(because reason: String?) { state.withLock { $0.refusal = reason } }
    /// Whether bodies come with their rows.
    package func sendBodies(_ sends: Bool) { state.withLock { $0.sendsBodies = sends } }
    /// Whether bodies that did not come with their rows are gone.
    package func loseBodies() { state.withLock { $0.loses = true } }
    /// Whether bodies come without their last byte, though the row says how long they are.
    package func cutBodies(_ cuts: Bool) { state.withLock { $0.cutsBodies = cuts } }
    /// Runs while a question is under way.
    package func whileAsked(_ action: (@Sendable () async -> Void)?) {
      state.withLock { $0.whileAsked = action }
    }
    /// Runs while an offer is under way.
    package func whileOffered(_ action: (@Sendable () async -> Void)?) {
      state.withLock { $0.whileOffered = action }
    }
    /// Runs while an account is being signed out, before its rows are gone.
    package func whileSignedOut(_ action: (@Sendable () async -> Void)?) {
      state.withLock { $0.whileSignedOut = action }
    }
    /// What `examine` finds.
    package func setFindings(_ findings: [StoreFinding]) { state.withLock { $0.findings = findings } }

    // MARK: What a test sees

    /// The questions so far.
    package var questions: [TierQuestion] { state.withLock { $0.questions } }
    /// The offers that it took.
    package var offers: [TierOffer] { state.withLock { $0.offers } }
    /// The bodies of its rows, as text, sorted.
    package var bodies: [String] {
      state.withLock { $0.rows.values.flatMap { $0 } }.map { String(decoding: $0.offer.body, as: UTF8.self) }
        .sorted()
    }
    /// The targets that were made void.
    package var invalidated: [String] { state.withLock { $0.tombstones.keys.sorted() } }
    /// The accounts that were signed out.
    package var signedOut: [String] { state.withLock { $0.signedOut } }
    /// What it was told of pauses: the responder, and how many milliseconds of them are left.
    package var pauses: [String: Int64] {
      state.withLock { state in state.pauses.mapValues { ($0 - state.now) / 1_000 } }
    }
    /// How many machines have attached.
    package var hosts: Int { state.withLock { $0.hosts } }

    // MARK: What the engine does

    fileprivate func attach() { state.withLock { $0.hosts += 1 } }

    fileprivate func findings() -> [StoreFinding] { state.withLock { $0.findings } }

    fileprivate func ask(
      _ question: TierQuestion, by host: TierHost?
    ) async -> TierReply {
      if let wait = state.withLock({ $0.whileAsked }) { await wait() }
      return state.withLock { state in
        state.questions.append(question)
        if let silence = state.silence { return .silent(because: silence) }
        guard let host else { return .silent(because: "nobody has attached it") }
        state.lastTicket = max(state.now, state.lastTicket + 1)
        let boot = host.timekeeper.bootNanoseconds
        let ticket = TierTicket(
          number: state.lastTicket, bootNanoseconds: boot + (state.lastTicket - state.now) * 1000)
        let pause = state.pauses[question.responder].map { ($0 - state.now) / 1_000 }
        guard let row = Self.row(in: state, for: question) else {
          return .answered(ticket, nil, pause: pause)
        }
        let age = row.offer.age + (state.now - row.offeredAt) / 1000
        var head = row.offer.head
        head.receivedAt = host.timekeeper.wallMilliseconds - age
        head.started = StartMark(
          boot: host.timekeeper.bootID,
          nanoseconds: boot - (state.now - row.offer.ticket.number) * 1000)
        return .answered(
          ticket,
          TierRow(
            head: head, vary: row.offer.vary, ticket: row.offer.ticket.number,
            length: Int64(row.offer.body.count), checksum: 1,
            body: state.sendsBodies ? Self.body(of: row, in: state) : nil),
          pause: pause)
      }
    }

    fileprivate func body(for question: TierQuestion) -> Data? {
      state.withLock { state in
        state.loses ? nil : Self.row(in: state, for: question).map { Self.body(of: $0, in: state) }
      }
    }

    fileprivate func offer(_ offer: TierOffer) async -> TierOffered {
      if let wait = state.withLock({ $0.whileOffered }) { await wait() }
      return state.withLock { state in
        if let reason = state.silence ?? state.refusal { return .refused(because: reason) }
        let name = Self.name(of: offer.question)
        let values = Self.values(of: offer.vary, in: offer.question)
        guard offer.ticket.number > state.tombstones[Self.target(of: offer.question)] ?? 0 else {
          return .superseded
        }
        let old = state.rows[name]?.firstIndex { $0.values == values }
        let row = Row(offer: offer, offeredAt: state.now, values: values)
        if let old {
          guard state.rows[name]?[old].offer.ticket.number ?? 0 < offer.ticket.number else {
            return .superseded
          }
          state.rows[name]?[old] = row
        } else {
          state.rows[name, default: []].append(row)
        }
        state.offers.append(offer)
        return .stored
      }
    }

    fileprivate func invalidate(_ question: TierQuestion) -> Bool {
      state.withLock { state in
        guard state.silence == nil else { return false }
        state.lastTicket = max(state.now, state.lastTicket + 1)
        let target = Self.target(of: question)
        state.tombstones[target] = state.lastTicket
        state.pauses[question.responder] = nil
        for name in state.rows.keys where name.hasPrefix(target + "\n") { state.rows[name] = nil }
        return true
      }
    }

    fileprivate func pause(_ milliseconds: Int64, _ question: TierQuestion) {
      state.withLock { state in
        if state.silence == nil { state.pauses[question.responder] = state.now + milliseconds * 1_000 }
      }
    }

    fileprivate func signOut(_ account: String) async -> Bool {
      if let wait = state.withLock({ $0.whileSignedOut }) { await wait() }
      return state.withLock { state in
        guard state.silence == nil else { return false }
        state.signedOut.append(account)
        state.rows = state.rows.filter { !$0.key.hasPrefix(account + "|") }
        return true
      }
    }

    private static func body(of row: Row, in state: State) -> Data {
      state.cutsBodies ? row.offer.body.dropLast() : row.offer.body
    }

    private static func row(in state: State, for question: TierQuestion) -> Row? {
      state.rows[name(of: question)]?.first { $0.values == values(of: $0.offer.vary, in: question) }
    }

    private static func target(of question: TierQuestion) -> String {
      question.account + "|" + question.target
    }

    private static func name(of question: TierQuestion) -> String {
      [
        target(of: question), question.method, question.extra,
        String(decoding: question.body ?? Data(), as: UTF8.self),
      ].joined(separator: "\n")
    }

    private static func values(of vary: String, in question: TierQuestion) -> [String: [String]] {
      var values: [String: [String]] = [:]
      for name in vary.split(separator: ",").map(String.init) {
        values[name] = question.fields.values(of: name)
      }
      return values
    }
  }

  /// The engine of one machine.
  private final class FakeTierEngine: SecondTier {
    private let tier: FakeTier
    let terms: TierTerms
    private let host = Mutex<TierHost?>(nil)
    private let isClosed = Atomic(false)

    init(tier: FakeTier, terms: TierTerms) {
      self.tier = tier
      self.terms = terms
    }

    func attach(to host: TierHost) {
      self.host.withLock { $0 = host }
      tier.attach()
    }

    func ask(_ question: TierQuestion) async -> TierReply {
      if isClosed.load(ordering: .relaxed) { return .silent(because: "closed") }
      return await tier.ask(question, by: host.withLock { $0 })
    }

    func body(of row: TierRow, for question: TierQuestion) async -> Data? {
      tier.body(for: question)
    }

    func offer(_ offer: TierOffer) async -> TierOffered { await tier.offer(offer) }

    func invalidate(_ question: TierQuestion) async -> Bool {
      tier.invalidate(question)
    }

    func pause(_ milliseconds: Int64, _ question: TierQuestion) async {
      tier.pause(milliseconds, question)
    }

    func signOut(_ account: String) async -> Bool { await tier.signOut(account) }

    func examine() async -> [StoreFinding] { tier.findings() }

    func close() { isClosed.store(true, ordering: .relaxed) }
  }
#endif
