internal import CacheStore
internal import DataService
package import PlatformFoundation

extension RedisTier {
  package func ask(_ question: TierQuestion) async -> TierReply {
    await server.run { [self] in await reply(to: question) }
  }

  private func reply(to question: TierQuestion) async -> TierReply {
    do throws(TierServer.Unavailable) {
      return try await answer(to: question)
    } catch {
      return .silent(because: error.reason)
    }
  }

  /// A question under way, with its keys and its deadline. All its round trips together have one patience.
  private struct Asked {
    let question: TierQuestion
    let keys: [TierKeys.Key]
    /// Those of the question's account; `nil` where it has none.
    let account: AccountKeys?
    let deadline: Int64
  }

  private func answer(
    to question: TierQuestion
  ) async throws(TierServer.Unavailable) -> TierReply {
    let (link, host) = try server.admit()
    let deadline = host.timekeeper.bootNanoseconds + server.address.patience.clampedNanoseconds
    guard !question.account.isEmpty else {
      let asked = Asked(question: question, keys: link.keys.all, account: nil, deadline: deadline)
      return try await reply(to: asked, link, host) ?? .silent(because: "there is no key")
    }
    var known = accounts.knownKeys(of: question.account)
    // Another machine may have signed the account out, and in again.
    for _ in 0..<3 {
      let account: AccountKeys
      if let known {
        account = known
      } else {
        account = try await accounts.fetchKeys(
          of: question.account, isMaking: !terms.isReadOnly, until: deadline, link, host)
      }
      let asked = Asked(question: question, keys: account.all, account: account, deadline: deadline)
      if let reply = try await reply(to: asked, link, host) { return reply }
      known = nil
    }
    throw TierServer.Unavailable(reason: "the account's key changes again and again")
  }

  /// The reply to a question; `nil` where the tier has other keys for its account by now.
  private func reply(
    to asked: Asked, _ link: TierServer.Link, _ host: TierHost
  ) async throws(TierServer.Unavailable) -> TierReply? {
    let (question, keys) = (asked.question, asked.keys)
    let lookups = keys.map { Lookup($0, question) }
    let pauses = question.responder.isEmpty ? [] : keys.map { $0.names.pause(of: question) }
    var commands = RESPWriter()
    commands.write(["TIME"])
    if let first = lookups.first { commands.write(["GET", first.target.tombstone]) }
    for lookup in lookups { commands.write(lookup.command(for: [lookup.plain])) }
    for pause in pauses { commands.write(["GET", pause]) }
    if asked.account != nil {
      for key in link.keys.all { commands.write(["GET", key.names.key(of: question.account)]) }
    }
    let sent = host.timekeeper.bootNanoseconds
    let replies = try await server.call(commands, over: link, host, until: asked.deadline)
    let arrival = host.timekeeper.bootNanoseconds
    guard let (time, number) = Self.ticket(replies, hasRow: !lookups.isEmpty) else {
      throw denied(replies.first { $0.failure != nil } ?? .null, host)
    }
    guard TierClock.isNear(time, host.timekeeper.wallMilliseconds) else {
      server.warn(TierClock.farAway, remedy: "set the clock that is wrong")
      server.fall(silent: TierClock.farAway, host)
      throw TierServer.Unavailable(reason: TierClock.farAway)
    }
    server.learn(time: time, sent: sent, received: arrival)
    let ticket = TierTicket(
      number: number, bootNanoseconds: server.instant(of: number, notAfter: arrival),
      accountKeys: asked.account?.number ?? 0)
    // In the order of the commands.
    let rows = replies.dropFirst(lookups.isEmpty ? 1 : 2)
    let told = rows.dropFirst(lookups.count)
    let sealedKeys = told.dropFirst(pauses.count)
    if let account = asked.account, !account.isSame(as: sealedKeys.map(\.bytes)) { return nil }
    let pause = zip(zip(keys, pauses), told).compactMap { pair, reply in
      remaining(reply, named: pair.1, pair.0, at: time, host)
    }.max()
    let found = try await newest(of: zip(lookups, rows), asked, link, host)
    let row = found.map { head in
      let started = StartMark(
        boot: host.timekeeper.bootID, nanoseconds: server.instant(of: head.ticket, notAfter: arrival))
      return head.row(at: time, started: started, wallMilliseconds: host.timekeeper.wallMilliseconds)
    }
    return .answered(ticket, row, pause: pause)
  }

  /// The newest row that matches, under any of the keys. Where `Vary` names fields that the request has, a second round
  /// trip looks for that variant.
  private func newest(
    of replies: some Sequence<(Lookup, RESPValue)>, _ asked: Asked, _ link: TierServer.Link, _ host: TierHost
  ) async throws(TierServer.Unavailable) -> SealedHead? {
    let question = asked.question
    var best: SealedHead?
    var further: [(Lookup, [String])] = []
    for (lookup, reply) in replies {
      let found = lookup.read(reply, of: [lookup.plain])
      if let vary = found.vary { server.count(opened: vary.isOpen, host) }
      let row = found.rows.first.flatMap { open($0, lookup, question, host) }
      best = newer(best, row?.matching)
      let names = [row?.other, found.vary?.names].compactMap(\.self)
      if names.isEmpty { continue }
      let others = Set(names.map { lookup.key.names.variant(of: question, vary: $0) }).subtracting([
        lookup.plain
      ])
      if !others.isEmpty { further.append((lookup, others.sorted())) }
    }
    guard !further.isEmpty else { return best }
    var commands = RESPWriter()
    for (lookup, variants) in further { commands.write(lookup.command(for: variants)) }
    let variants = try await server.call(commands, over: link, host, until: asked.deadline)
    for ((lookup, names), reply) in zip(further, variants) {
      for row in lookup.read(reply, of: names).rows {
        best = newer(best, open(row, lookup, question, host)?.matching)
      }
    }
    return best
  }

  /// The tier's time, and a ticket: that time, or, if larger, one more than the newest ticket of the target's
  /// rows and removals.
  ///
  /// No script is needed, since nothing is written. A write between these commands, or after them, has a
  /// ticket of its own, and the larger of two tickets wins.
  private static func ticket(_ replies: [RESPValue], hasRow: Bool) -> (time: Int64, number: Int64)? {
    guard let time = replies.first?.microseconds, TierClock.isTime(time) else { return nil }
    guard hasRow else { return (time, time) }
    guard replies.count > 2, replies[1].failure == nil, let fields = replies[2].elements, fields.count > 1
    else { return nil }
    let newest = max(replies[1].number ?? 0, fields[1].number ?? 0)
    return newest < TierClock.largestTicket ? (time, max(time, newest + 1)) : nil
  }

  private func denied(_ reply: RESPValue, _ host: TierHost) -> TierServer.Unavailable {
    let text = reply.failure.map { "it says: \(TierServer.shortened($0))" } ?? "it gives no ticket"
    server.warn(text, remedy: reply.failure.flatMap(TierServer.remedy) ?? TierServer.rightsRemedy)
    server.fall(silent: text, host)
    return TierServer.Unavailable(reason: text)
  }

  /// A value as it stands in the tier.
  private struct Sealed {
    let variant: String
    let ticket: Int64
    let value: [UInt8]
  }

  private func newer(_ left: SealedHead?, _ right: SealedHead?) -> SealedHead? {
    guard let left, let right else { return left ?? right }
    return right.ticket > left.ticket ? right : left
  }

  /// Opens a row: it matches the question, or is of another variant, whose names in `Vary` are `other`.
  private func open(
    _ sealed: Sealed, _ lookup: Lookup, _ question: TierQuestion, _ host: TierHost
  ) -> (matching: SealedHead?, other: String?)? {
    let place = Seal.Place(key: lookup.target.row, field: sealed.variant, ticket: sealed.ticket)
    let bytes = lookup.key.seal.opened(sealed.value, at: place)
    server.count(opened: bytes != nil, host)
    guard let head = bytes.flatMap(SealedHead.init), head.ticket == sealed.ticket,
      head.variant == sealed.variant, head.target == question.target, head.account == question.account,
      head.length <= terms.largestBody
    else { return nil }
    let variant = head.vary.isEmpty ? lookup.plain : lookup.key.names.variant(of: question, vary: head.vary)
    return variant == sealed.variant ? (head, nil) : (nil, head.vary)
  }

  /// The lookup under one of the fleet's keys.
  private struct Lookup {
    let key: TierKeys.Key
    let target: TierNames.Target
    /// The variant of a request none of whose fields `Vary` names.
    let plain: String

    init(_ key: TierKeys.Key, _ question: TierQuestion) {
      self.key = key
      target = key.names.target(of: question)
      plain = key.plainVariant(of: question)
    }

    /// The command that fetches the names in `Vary`, the newest ticket, and variants with their own.
    func command(for variants: [String]) -> [String] {
      variants.reduce(into: ["HMGET", target.row, "y", "t"]) { $0 += [$1, "\($1).t"] }
    }

    /// What came of it; an empty value is one that was evicted.
    func read(
      _ reply: RESPValue, of variants: [String]
    ) -> (rows: [Sealed], vary: (names: String?, isOpen: Bool)?) {
      guard let elements = reply.elements, elements.count == 2 + variants.count * 2 else { return ([], nil) }
      var rows: [Sealed] = []
      for (index, variant) in variants.enumerated() {
        guard let value = elements[2 + index * 2].bytes, !value.isEmpty,
          let ticket = elements[3 + index * 2].number
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
  static func chunk(_ number: Int, of ticket: Int64, mark: String, _ target: TierNames.Target) -> Self {
    Self(key: target.chunk(number, of: ticket, mark: mark), field: "", ticket: ticket, number: number)
  }
}

extension RedisTier {
  /// How many times the patience a whole body may take, however many pieces it has. With the defaults that is
  /// 760 ms, in which the longest body that is shared comes at 100 Mbit/s.
  private static let patiences = 8

  package func body(of row: TierRow, for question: TierQuestion) async -> Data? {
    await server.run { [self] in await wholeBody(of: row, for: question) }
  }

  private func wholeBody(of row: TierRow, for question: TierQuestion) async -> Data? {
    if let body = row.body { return body }
    guard row.length > 0, row.length <= terms.largestBody, let (link, host) = try? server.admit() else {
      return nil
    }
    // The origin is not asked before this is over.
    let deadline =
      host.timekeeper.bootNanoseconds + (server.address.patience * Self.patiences).clampedNanoseconds
    for key in accounts.keys(for: question, link) where !Task.isCancelled {
      let (target, mark) = (key.names.target(of: question), key.names.mark(of: row.checksum))
      if let body = try? await assembled(row, target, mark, key.seal, until: deadline, link, host) {
        return SealedHead.checksum(of: body) == row.checksum ? body : nil
      }
    }
    return nil
  }

  /// The pieces together; `nil` where one is gone or does not open, or they have not all come by the deadline.
  private func assembled(
    _ row: TierRow, _ target: TierNames.Target, _ mark: String, _ seal: Seal, until deadline: Int64,
    _ link: TierServer.Link, _ host: TierHost
  ) async throws(TierServer.Unavailable) -> Data? {
    let count = Int((row.length - 1) / Int64(SealedHead.chunkLength)) + 1
    var body = Data(capacity: Int(row.length))
    var calls: [(RedisConnection.Call, Int64)] = []
    var next = 0
    for number in 0..<count {
      // Each piece may come in its time, and all of them together too late.
      guard host.timekeeper.bootNanoseconds < deadline else { return nil }
      // The first alone: where it is gone, so are the others.
      let end = min(number + (number == 0 ? 1 : TierServer.pieceWindow), count)
      while next < end {
        calls.append(begin(next))
        next += 1
      }
      let (call, sent) = calls.removeFirst()
      let reply = try await server.replies(
        to: call, over: link.pieceConnection, sent: sent, server.pieceLimit, host
      ).first
      guard let value = reply?.bytes else { return nil }
      let piece = seal.opened(value, at: .chunk(number, of: row.ticket, mark: mark, target))
      server.count(opened: piece != nil, host)
      guard let piece, !piece.isEmpty, body.count + piece.count <= row.length else { return nil }
      body.append(contentsOf: piece)
    }
    return body.count == row.length ? body : nil

    func begin(_ number: Int) -> (RedisConnection.Call, Int64) {
      var command = RESPWriter()
      command.write(["GET", target.chunk(number, of: row.ticket, mark: mark)])
      let sent = host.timekeeper.bootNanoseconds
      let rest = Duration.nanoseconds(max(1, deadline - sent))
      return (link.pieceConnection.begin(command, within: min(server.pieceLimit, rest)), sent)
    }
  }
}

// An origin's `Retry-After`, which the whole fleet obeys: until when it lasts, by the tier's clock.
extension RedisTier {
  package func pause(_ milliseconds: Int64, _ question: TierQuestion) async {
    await server.run { [self] in await tell(of: milliseconds, question) }
  }

  private func tell(of milliseconds: Int64, _ question: TierQuestion) async {
    guard !terms.isReadOnly, milliseconds > 0, !question.responder.isEmpty else { return }
    do throws(TierServer.Unavailable) {
      let (link, host) = try server.admit()
      guard let key = accounts.keys(for: question, link).first, let time = server.tierTime(host) else {
        return
      }
      let length = min(milliseconds, Pause.longestMilliseconds)
      let name = key.names.pause(of: question)
      let until = key.seal.sealed(Array("\(time + length * 1_000)".utf8), at: .pause(name))
      let command = [Array("SET".utf8), Array(name.utf8), until, Array("PX".utf8), Array("\(length)".utf8)]
      let reply = try await server.call(RESPWriter([command]), over: link, host).first ?? .null
      if let text = reply.failure {
        server.warn(TierServer.shortened(text), remedy: TierServer.remedy(for: text))
      }
    } catch {
      server.host?.trace("the fleet was not told of the pause: \(error.reason)")
    }
  }

  /// What is left of a pause at an instant of the tier's clock, in milliseconds; `nil` where there is none.
  func remaining(
    _ reply: RESPValue, named name: String, _ key: TierKeys.Key, at time: Int64, _ host: TierHost
  ) -> Int64? {
    guard let sealed = reply.bytes else { return nil }
    let until = key.seal.opened(sealed, at: .pause(name)).flatMap {
      Int64(String(decoding: $0, as: UTF8.self))
    }
    server.count(opened: until != nil, host)
    guard let until, until > time else { return nil }
    return (until - time + 999) / 1_000
  }
}

extension Seal.Place {
  /// The place of a pause.
  fileprivate static func pause(_ name: String) -> Self { Self(key: name, field: "until") }
}
