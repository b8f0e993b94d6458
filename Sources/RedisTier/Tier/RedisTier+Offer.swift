internal import CacheStore
internal import DataService
internal import PlatformFoundation

extension RedisTier {
  /// The most variants of one target.
  static let variantLimit = 16
  /// How long the pieces of a replaced body live, in milliseconds: a machine that has its head still reads them.
  private static let replacedLife = 600_000
  /// How long a tombstone lives, in milliseconds: longer than any exchange lasts.
  private static let tombstoneLife = 3_600_000

  package func offer(_ offer: TierOffer) async -> TierOffered {
    await server.run { [self] in await write(offer) }
  }

  private func write(_ offer: TierOffer) async -> TierOffered {
    if terms.isReadOnly { return .refused(because: "it is read only") }
    guard Int64(offer.body.count) <= terms.largestBody else {
      return .refused(because: "the body is too long")
    }
    guard offer.vary != "*" else { return .refused(because: "no other request matches the response") }
    do throws(TierServer.Unavailable) {
      return try await written(offer)
    } catch {
      return .refused(because: error.reason)
    }
  }

  private func written(
    _ offer: TierOffer
  ) async throws(TierServer.Unavailable) -> TierOffered {
    let (link, host) = try server.admit()
    guard let key = accounts.sealingKey(for: offer.question, offer.ticket, link) else {
      return .refused(because: "its account has another key by now, or none")
    }
    let target = key.names.target(of: offer.question)
    let variant = key.names.variant(of: offer.question, vary: offer.vary)
    guard let time = server.tierTime(host) else { return .refused(because: "its time is not known") }
    let head = SealedHead(offer, variant: variant, at: time)
    guard let bytes = head.bytes else { return .refused(because: "the head is too long") }

    let life = Array("\(server.address.lifetime)".utf8)
    let ticket = offer.ticket.number
    let mark = head.chunks > 0 ? key.names.mark(of: head.checksum) : ""
    let pieces = (0..<head.chunks).map { Array(target.chunk($0, of: ticket, mark: mark).utf8) }
    if head.chunks > 0 {
      let problem = try await writeChunks(
        of: offer, head.chunks, target, mark, key.seal, life: life, link, host)
      if let problem {
        try? await remove(pieces, link, host)
        return refused(problem)
      }
    }
    let vary = offer.vary.isEmpty ? [] : key.seal.sealed(Array(offer.vary.utf8), at: .vary(of: target))
    let command = TierServer.run(
      Scripts.commit, target,
      [
        Array(variant.utf8), Array("\(ticket)".utf8), life,
        key.seal.sealed(bytes, at: .init(key: target.row, field: variant, ticket: ticket)),
        Array("\(head.chunks)\(mark)".utf8), vary, Array("\(Self.variantLimit)".utf8),
        Array("\(Self.replacedLife)".utf8),
      ])
    let sent = host.timekeeper.bootNanoseconds
    let keeping = accounts.commandToKeep(offer.question, link)
    let first = try await server.call(RESPWriter([command] + keeping), over: link, host).first ?? .null
    let reply = try await server.reply(first, to: Scripts.commit, command, over: link, host)
    guard let (_, verdict) = server.learn(reply, sent: sent, host) else {
      if reply.failure != nil { try? await remove(pieces, link, host) }
      return refused(reply.failure ?? "it gives no answer")
    }
    if verdict == 1 { return .stored }
    // With the same ticket and the same body, the pieces of the other row have the same names.
    if verdict != 2 { try await remove(pieces, link, host) }
    return .superseded
  }

  /// Removes the pieces of a body that no row has: a full server would keep them as long as a row.
  private func remove(
    _ pieces: [[UInt8]], _ link: TierServer.Link, _ host: TierHost
  ) async throws(TierServer.Unavailable) {
    guard !pieces.isEmpty else { return }
    _ = try await server.call(RESPWriter([[Array("UNLINK".utf8)] + pieces]), over: link, host)
  }

  /// Writes the pieces of a long body.
  /// - Returns: The server's words where it does not take one.
  private func writeChunks(
    of offer: TierOffer, _ count: Int, _ target: TierNames.Target, _ mark: String, _ seal: Seal,
    life: [UInt8], _ link: TierServer.Link, _ host: TierHost
  ) async throws(TierServer.Unavailable) -> String? {
    var calls: [(RedisConnection.Call, Int64)] = []
    var problem: String?
    for number in 0..<(count + TierServer.pieceWindow) {
      if number < count, problem == nil { calls.append((begin(number), host.timekeeper.bootNanoseconds)) }
      guard calls.count >= TierServer.pieceWindow || number >= count, !calls.isEmpty else { continue }
      let (call, sent) = calls.removeFirst()
      let replies = try await server.replies(
        to: call, over: link.pieceConnection, sent: sent, server.pieceLimit, host)
      problem = problem ?? replies.lazy.compactMap(\.failure).first
    }
    return problem

    func begin(_ number: Int) -> RedisConnection.Call {
      let start = number * SealedHead.chunkLength
      let sealed = offer.body.withUnsafeBytes { body in
        seal.sealed(
          UnsafeRawBufferPointer(rebasing: body[start...].prefix(SealedHead.chunkLength)),
          at: .chunk(number, of: offer.ticket.number, mark: mark, target))
      }
      let name = target.chunk(number, of: offer.ticket.number, mark: mark)
      let words = [Array("SET".utf8), Array(name.utf8), sealed]
      return link.pieceConnection.begin(
        RESPWriter([words + [Array("PX".utf8), life]]), within: server.pieceLimit)
    }
  }

  private func refused(_ text: String) -> TierOffered {
    let words = "it says: \(TierServer.shortened(text))"
    server.warn(words, remedy: TierServer.remedy(for: text))
    return .refused(because: words)
  }

  package func invalidate(_ question: TierQuestion) async -> Bool {
    await server.run { [self] in await removed(question) }
  }

  private func removed(_ question: TierQuestion) async -> Bool {
    if terms.isReadOnly { return false }
    do throws(TierServer.Unavailable) {
      let (link, host) = try server.admit()
      var isSet = true
      if !question.account.isEmpty {
        _ = try await accounts.fetchKeys(of: question.account, isMaking: false, link, host)
      }
      // Machines that still seal with another of the keys have rows of their own.
      for key in accounts.keys(for: question, link) {
        if !question.responder.isEmpty {
          var command = RESPWriter()
          command.write(["UNLINK", key.names.pause(of: question)])
          _ = try await server.call(command, over: link, host)
        }
        let command = TierServer.run(
          Scripts.invalidate, key.names.target(of: question),
          [Array("\(Self.tombstoneLife)".utf8), Array("\(Self.replacedLife)".utf8)])
        let sent = host.timekeeper.bootNanoseconds
        let first = try await server.call(RESPWriter([command]), over: link, host).first ?? .null
        let reply = try await server.reply(first, to: Scripts.invalidate, command, over: link, host)
        guard server.learn(reply, sent: sent, host) == nil else { continue }
        _ = refused(reply.failure ?? "it gives no answer")
        isSet = false
      }
      return isSet
    } catch {
      return false
    }
  }
}
