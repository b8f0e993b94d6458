package import CacheStore
internal import DataService
internal import PlatformFoundation

extension RedisTier {
  /// Checks whether the files can be used, connects even if the tier is silent, and tries each command on a
  /// name that no other key has. It leaves nothing but a tombstone that expires within a second.
  package func examine() async -> [StoreFinding] { await server.run { [self] in await findings() } }

  private func findings() async -> [StoreFinding] {
    let (link, host): (TierServer.Link, TierHost)
    do throws(TierServer.Unavailable) {
      (link, host) = try server.prepare()
    } catch {
      return [StoreFinding("tier", .wrong, error.reason)]
    }
    var findings = [
      StoreFinding("keys", .fine, "\(link.keys.all.count) in \(server.address.keyFile); the first seals")
    ]
    do throws(RedisConnection.Trouble) {
      findings.append(try await connects(link, host))
      findings += try await rights(link, host)
      findings.append(try await eviction(link))
      for account in terms.accounts.sorted() { findings.append(try await sharing(of: account, link)) }
    } catch {
      findings.append(
        StoreFinding("connection", .wrong, "\(server.address.name): \(Self.words(for: error))"))
    }
    findings.append(values)
    return findings
  }

  private func connects(
    _ link: TierServer.Link, _ host: TierHost
  ) async throws(RedisConnection.Trouble) -> StoreFinding {
    let began = host.timekeeper.bootNanoseconds
    _ = try await link.connection.call(RESPWriter([[Array("PING".utf8)]]), within: server.address.patience)
    let connected = host.timekeeper.bootNanoseconds
    _ = try await link.connection.call(RESPWriter([[Array("PING".utf8)]]), within: server.address.patience)
    let answered = host.timekeeper.bootNanoseconds
    func milliseconds(_ nanoseconds: Int64) -> String {
      let hundredths = nanoseconds / 10_000
      return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) ms"
    }
    return StoreFinding(
      "connection", .fine,
      "\(server.address.name) answers in \(milliseconds(answered - connected)), "
        + "the first time in \(milliseconds(connected - began))")
  }

  /// Runs what the tier runs, for a target that no request has.
  private func rights(
    _ link: TierServer.Link, _ host: TierHost
  ) async throws(RedisConnection.Trouble) -> [StoreFinding] {
    let name = "examined \(UInt64.random(in: .min ... .max))"
    let target = link.keys.first.names.target(of: TierQuestion(target: name))
    let (row, life) = (Array(target.row.utf8), Array("1000".utf8))
    var tried: [(String, [[UInt8]])] = [
      ("time", [Array("TIME".utf8)]),
      ("hmget", [Array("HMGET".utf8), row, [0x79]]),
      ("get", [Array("GET".utf8), Array(target.chunk(0, of: 1).utf8)]),
    ]
    if !terms.isReadOnly {
      // A row without a body, which the removal takes away again.
      let offer: [[UInt8]] = [[0x76], [0x31], life, [], [0x30], [], [0x31], life]
      let writing: [(String, [[UInt8]])] = [
        ("script load, to offer", ["SCRIPT", "LOAD", Scripts.commit.text].map { Array($0.utf8) }),
        ("script load, to remove", ["SCRIPT", "LOAD", Scripts.invalidate.text].map { Array($0.utf8) }),
        ("set", [Array("SET".utf8), Array(target.chunk(0, of: 1).utf8), [0x31], Array("PX".utf8), life]),
        ("pexpire", [Array("PEXPIRE".utf8), Array(target.chunk(0, of: 1).utf8), life]),
        ("unlink", [Array("UNLINK".utf8), Array(target.chunk(0, of: 1).utf8)]),
        // What an offer needs where the target has as many variants as it may have.
        ("del", [Array("DEL".utf8), Array(target.chunk(0, of: 1).utf8)]),
        ("offering by a script", TierServer.run(Scripts.commit, target, offer)),
        ("removing by a script", TierServer.run(Scripts.invalidate, target, [life, life])),
      ]
      tried += writing
    }
    let replies = try await link.connection.call(RESPWriter(tried.map(\.1)), within: server.address.patience)
    if let time = replies.first?.microseconds, !TierClock.isNear(time, host.timekeeper.wallMilliseconds) {
      return [StoreFinding("time", .wrong, "\(TierClock.farAway): set the one that is wrong")]
    }
    let refused = zip(tried, replies).compactMap { command, reply in
      reply.failure.map { "\(command.0): \(TierServer.shortened($0))" }
    }
    guard refused.isEmpty else {
      return refused.map { StoreFinding("rights", .wrong, $0) }
    }
    let what = terms.isReadOnly ? "may ask, as a read-only tier has to" : "may ask and offer"
    return [StoreFinding("rights", .fine, what)]
  }

  /// Whether the tier has a key for a shared account, and whether it opens.
  private func sharing(
    of account: String, _ link: TierServer.Link
  ) async throws(RedisConnection.Trouble) -> StoreFinding {
    let names = link.keys.all.map { $0.names.key(of: account) }
    let commands = names.map { [Array("GET".utf8), Array($0.utf8)] }
    let replies = try await link.connection.call(RESPWriter(commands), within: server.address.patience)
    let found = zip(zip(link.keys.all, names), replies).compactMap { pair, reply in
      reply.bytes.map { AccountKeys.opened($0, with: pair.0, at: .accountKey(pair.1)) != nil }
    }
    let isFine = !found.contains(false)
    return StoreFinding(
      "account", isFine ? .fine : .wrong,
      found.isEmpty
        ? "\(account) is shared, and nothing of it is in the tier"
        : isFine ? "\(account) is shared, and its key opens" : "the key of \(account) does not open")
  }

  /// What the server does when its memory is full, if this user may know.
  private func eviction(
    _ link: TierServer.Link
  ) async throws(RedisConnection.Trouble) -> StoreFinding {
    let command = ["CONFIG", "GET", "maxmemory*"].map { Array($0.utf8) }
    let reply = try await link.connection.call(RESPWriter([command]), within: server.address.patience).first
    let words = (reply?.elements ?? []).map { String(decoding: $0.bytes ?? [], as: UTF8.self) }
    var settings: [String: String] = [:]
    for index in stride(from: 1, to: words.count, by: 2) { settings[words[index - 1]] = words[index] }
    guard let policy = settings["maxmemory-policy"] else {
      return StoreFinding("eviction", .fine, "not visible to this user; allkeys-lfu is best")
    }
    guard policy == "noeviction" else {
      return StoreFinding("eviction", .fine, policy)
    }
    // Without a limit nothing is refused: rows go as they expire.
    let isLimited = settings["maxmemory"] != "0"
    return StoreFinding(
      "eviction", isLimited ? .wrong : .fine,
      isLimited
        ? "noeviction: a full server refuses what is offered; set maxmemory-policy allkeys-lfu"
        : "noeviction, with no limit on memory (maxmemory 0): rows go as they expire")
  }

  private var values: StoreFinding {
    StoreFinding(
      "values", server.seen == server.opened ? .fine : .wrong,
      server.seen == 0
        ? "none has been read by this process"
        : "\(server.opened) of \(server.seen) opened"
          + (server.seen == server.opened ? "" : ": another fleet key?"))
  }

  private static func words(for trouble: RedisConnection.Trouble) -> String {
    switch trouble {
    case .late: "no answer in time"
    case .unreachable(let error): error.message + (error.hint.map { "; \($0)" } ?? "")
    case .refused(let text): "it says: \(TierServer.shortened(text))"
    case .malformed: "it does not speak the Redis protocol"
    case .cancelled: "the request was cancelled"
    case .closed: "it was closed"
    }
  }
}
