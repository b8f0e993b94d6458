internal import CacheStore
package import DataService
internal import PlatformFoundation

extension RedisTier {
  nonisolated(nonsending) package func ask(_ question: TierQuestion) async -> TierReply {
    do throws(Silent) {
      return try await answer(to: question)
    } catch {
      return .silent(because: error.reason)
    }
  }

  nonisolated(nonsending) private func answer(to question: TierQuestion) async throws(Silent) -> TierReply {
    let (link, host) = try admit()
    let looks = link.keys.all.map { Look(key: $0, target: $0.names.target(of: question)) }
    let script = Self.run(Scripts.ask, looks.first?.target ?? link.keys.first.names.target(of: question))
    let plain = looks.map { $0.key.names.variant(of: question, vary: "") }
    var sent = host.timekeeper.bootNanoseconds
    var replies = try await call(
      [script] + zip(looks, plain).map { $0.command(for: [$1]) }, over: link, host)
    let wasUnknown = replies[0].failure != nil
    if wasUnknown { sent = host.timekeeper.bootNanoseconds }
    replies[0] = try await reply(replies[0], to: Scripts.ask, script, over: link, host)
    let arrival = host.timekeeper.bootNanoseconds
    guard let (time, number) = learn(replies[0], sent: sent, host) else {
      throw denied(replies[0], host)
    }
    let ticket = TierTicket(number: number, bootNanoseconds: instant(of: number, notAfter: arrival))

    var best: Found?
    var further: [(Look, [String])] = []
    for ((look, variant), reply) in zip(zip(looks, plain), replies.dropFirst()) {
      let found = look.read(reply, of: [variant])
      if let vary = found.vary { count(opened: vary.isOpen, host) }
      let row = found.rows.first.flatMap { open($0, look, question, host) }
      best = newer(best, row?.matching)
      let names = Set([row?.other, found.vary?.names].compactMap(\.self))
      let others = Set(names.map { look.key.names.variant(of: question, vary: $0) }).subtracting([variant])
      if !others.isEmpty { further.append((look, others.sorted())) }
    }
    if !further.isEmpty {
      let replies = try await call(further.map { $0.0.command(for: $0.1) }, over: link, host)
      for ((look, variants), reply) in zip(further, replies) {
        for row in look.read(reply, of: variants).rows {
          best = newer(best, open(row, look, question, host)?.matching)
        }
      }
    }
    return .answered(ticket, best.map { self.row($0, at: time, arrival, host) })
  }

  private func denied(_ reply: RESPValue, _ host: TierHost) -> Silent {
    let text = reply.failure.map { "it says: \(Self.shortened($0))" } ?? "it gives no ticket"
    warn(text, remedy: reply.failure.flatMap(Self.remedy) ?? Self.rightsRemedy)
    fall(silent: text, host)
    return Silent(reason: text)
  }

  /// A value as it stands in the tier.
  private struct Sealed {
    let variant: String
    let ticket: Int64
    let value: [UInt8]
  }

  /// A row that opened and answers the question.
  private struct Found {
    let head: SealedHead
  }

  private func newer(_ left: Found?, _ right: Found?) -> Found? {
    guard let left, let right else { return left ?? right }
    return right.head.ticket > left.head.ticket ? right : left
  }

  /// Opens a row: it matches the question, or is of another variant, whose names in `Vary` are `other`.
  private func open(
    _ sealed: Sealed, _ look: Look, _ question: TierQuestion, _ host: TierHost
  ) -> (matching: Found?, other: String?)? {
    let place = Seal.Place(key: look.target.row, field: sealed.variant, ticket: sealed.ticket)
    let bytes = look.key.seal.opened(sealed.value, at: place)
    count(opened: bytes != nil, host)
    guard let head = bytes.flatMap(SealedHead.init), head.ticket == sealed.ticket,
      head.variant == sealed.variant, head.target == question.target, head.account == question.account,
      head.length <= terms.largestBody
    else { return nil }
    let isMatch = look.key.names.variant(of: question, vary: head.vary) == sealed.variant
    return isMatch ? (Found(head: head), nil) : (nil, head.vary)
  }

  /// The row in terms of this machine's clocks.
  private func row(_ found: Found, at time: Int64, _ arrival: Int64, _ host: TierHost) -> TierRow {
    let head = found.head
    let (since, overflow) = time.subtractingReportingOverflow(head.offeredAt)
    let age = head.age + (overflow ? 0 : max(0, since) / 1_000)
    let received = host.timekeeper.wallMilliseconds - age
    var response = ResponseHead(
      status: Int(head.status), reason: head.reason, fields: HTTPFields(wire: head.wire),
      version: head.version,
      url: head.url.isEmpty ? nil : head.url,
      started: StartMark(
        boot: host.timekeeper.bootID, nanoseconds: instant(of: head.ticket, notAfter: arrival)),
      requestedAt: received - head.delay, receivedAt: received)
    response.exchangeMilliseconds = head.exchange
    return TierRow(
      head: response, vary: head.vary, ticket: head.ticket, length: head.length, checksum: head.checksum,
      body: head.body.map { Data($0) })
  }

  /// The look-up under one of the fleet's keys.
  private struct Look {
    let key: TierKeys.Key
    let target: TierNames.Target

    /// The command that fetches variants with their tickets, and the names in `Vary`.
    func command(for variants: [String]) -> [[UInt8]] {
      (["HMGET", target.row, "y"] + variants.flatMap { [$0, "\($0).t"] }).map { Array($0.utf8) }
    }

    /// What came of it; an empty value is one that was evicted.
    func read(
      _ reply: RESPValue, of variants: [String]
    ) -> (rows: [Sealed], vary: (names: String?, isOpen: Bool)?) {
      guard let elements = reply.elements, elements.count == 1 + variants.count * 2 else { return ([], nil) }
      var rows: [Sealed] = []
      for (index, variant) in variants.enumerated() {
        guard let value = elements[1 + index * 2].bytes, !value.isEmpty,
          let ticket = elements[2 + index * 2].number
        else { continue }
        rows.append(Sealed(variant: variant, ticket: ticket, value: value))
      }
      guard let value = elements[0].bytes, !value.isEmpty else { return (rows, nil) }
      let names = key.seal.opened(value, at: varyPlace).map { String(decoding: $0, as: UTF8.self) }
      return (rows, (names, names != nil))
    }

    private var varyPlace: Seal.Place { .vary(of: target) }
  }
}

extension Seal.Place {
  /// The place of the names in `Vary` of a target's responses.
  static func vary(of target: TierNames.Target) -> Self { Self(key: target.row, field: "y") }

  /// The place of a piece of a body.
  static func chunk(_ number: Int, of ticket: Int64, _ target: TierNames.Target) -> Self {
    Self(key: target.chunk(number, of: ticket), field: "", ticket: ticket, number: number)
  }
}
