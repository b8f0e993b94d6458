import CacheStore
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService
@testable import RedisTier

@Suite("A tier on a real server", .inTurn) struct RealServerTests {
  @Test func `what one machine offers another one gets, with its age`() async throws {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url()), try Machine(fleet.url()))
    let first = try #require(await one.answer(.page), "\(one.traces.withLock { $0 })")
    #expect(first.row == nil)
    #expect(await one.offer(.page, first.ticket, body: Data("hello".utf8), age: 5_000) == .stored)

    let (ticket, found) = try #require(await other.answer(.page))
    let row = try #require(found)
    #expect(ticket.number > first.ticket.number)
    #expect(row.ticket == first.ticket.number)
    #expect(row.body == Data("hello".utf8))
    #expect(row.length == 5)
    #expect(row.head.status == 200)
    #expect(row.head.fields["Content-Type"] == "text/plain")
    let age = other.timekeeper.wallMilliseconds - row.head.receivedAt
    #expect(age >= 5_000)
    #expect(row.head.receivedAt - row.head.requestedAt == 20)
    #expect(row.head.started.nanoseconds <= other.timekeeper.bootNanoseconds)
    #expect(row.head.started.boot == other.timekeeper.bootID)
    #expect(other.warnings.withLock { $0 } == [])
  }

  @Test func `the scripts have the digests that the server gives them`() async throws {
    let fleet = try await Fleet()
    let client = try fleet.client()
    for script in [Scripts.invalidate, Scripts.commit] {
      let digest = try client.run("SCRIPT", "LOAD", script.text).bytes
      #expect(digest == script.digest, "\(String(decoding: digest ?? [], as: UTF8.self))")
    }
  }

  @Test(arguments: [0, 1, 32 << 10, 32 << 10 | 1, 256 << 10, 256 << 10 | 1, (1 << 20) + 77, 8 << 20])
  func `a body of any length up to the limit comes back whole`(length: Int) async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    let body = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    let ticket = try #require(await machine.answer(.page)).ticket
    #expect(await machine.offer(.page, ticket, body: body) == .stored)
    let row = try #require(await machine.answer(.page)?.row)
    #expect(row.length == length)
    #expect((row.body != nil) == (length <= 32 << 10))
    #expect(await machine.body(of: row, for: .page) == body)
  }

  @Test func `a body over the limit is neither offered nor taken`() async throws {
    let fleet = try await Fleet()
    let (small, large) = (try Machine(fleet.url("&max-body=1K")), try Machine(fleet.url()))
    let ticket = try #require(await small.answer(.page)).ticket
    let body = Data(count: 1_025)
    #expect(await small.offer(.page, ticket, body: body) == .refused(because: "the body is too long"))
    #expect(await large.answer(.page).map { $0.row == nil } == true)
    let other = try #require(await large.answer(.page)).ticket
    #expect(await large.offer(.page, other, body: body) == .stored)
    #expect(await small.answer(.page).map { $0.row == nil } == true)
  }

  @Test func `the later start stays, in whatever order they are offered`() async throws {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url()), try Machine(fleet.url()))
    let old = try #require(await one.answer(.page)).ticket
    let new = try #require(await other.answer(.page)).ticket
    #expect(new.number > old.number)
    #expect(await other.offer(.page, new, body: Data("new".utf8)) == .stored)
    #expect(await one.offer(.page, old, body: Data("old".utf8)) == .superseded)
    #expect(await one.offer(.page, new, body: Data("again".utf8)) == .superseded)
    #expect(await one.answer(.page)?.row?.body == Data("new".utf8))
    let newest = try #require(await one.answer(.page)).ticket
    #expect(await one.offer(.page, newest, body: Data("newest".utf8)) == .stored)
    #expect(await other.answer(.page)?.row?.body == Data("newest".utf8))
  }

  @Test func `an invalidation removes the rows, and every offer that began before it`() async throws {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url()), try Machine(fleet.url()))
    #expect(await one.share(.page, "before") == .stored)
    let pending = try #require(await one.answer(.page)).ticket
    #expect(await other.invalidate(.page))
    #expect(await one.answer(.page).map { $0.row == nil } == true)
    #expect(await one.offer(.page, pending, body: Data("late".utf8)) == .superseded)
    #expect(await one.share(.page, "after") == .stored)
    #expect(await other.answer(.page)?.row?.body == Data("after".utf8))
  }

  @Test func `tickets rise though the server's clock is behind what it gave out`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    let ticket = try #require(await machine.answer(.page)).ticket
    // An hour ahead, as if the clock had been set back since.
    let ahead = TierTicket(number: ticket.number + 3_600_000_000, bootNanoseconds: ticket.bootNanoseconds)
    #expect(await machine.offer(.page, ahead, body: Data("ahead".utf8)) == .stored)
    let (next, row) = try #require(await machine.answer(.page))
    #expect(next.number == ahead.number + 1)
    #expect(row?.head.started.nanoseconds ?? .max <= machine.timekeeper.bootNanoseconds)
    #expect(await machine.offer(.page, next, body: Data("next".utf8)) == .stored)
    #expect(await machine.answer(.page)?.row?.body == Data("next".utf8))
  }

  @Test func `of two machines with the same ticket the second takes nothing from the row of the first`()
    async throws
  {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url()), try Machine(fleet.url()))
    let ticket = try #require(await one.answer(.page)).ticket
    // An hour ahead, as if the clock had been set back since: whoever asks is given the number after it.
    let ahead = TierTicket(number: ticket.number + 3_600_000_000, bootNanoseconds: ticket.bootNanoseconds)
    #expect(await one.offer(.page, ahead, body: Data("ahead".utf8)) == .stored)
    let first = try #require(await one.answer(.page)).ticket
    let second = try #require(await other.answer(.page)).ticket
    #expect(first.number == second.number)
    let body = Data(distinctBytes(300_000))
    #expect(await one.offer(.page, first, body: body) == .stored)
    #expect(await other.offer(.page, second, body: body) == .superseded)
    let row = try #require(await one.answer(.page)?.row)
    #expect(await one.body(of: row, for: .page) == body)
  }

  @Test func `of two long bodies with the same ticket the one that was offered first stays whole`()
    async throws
  {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url()), try Machine(fleet.url()))
    let ticket = try #require(await one.answer(.page)).ticket
    let (mine, theirs) = (Data(distinctBytes(300_000)), Data(distinctBytes(300_000, seed: 2)))
    #expect(await one.offer(.page, ticket, body: mine) == .stored)
    // It was given the same number: the server's clock counts no closer.
    #expect(await other.answer(.page) != nil)
    #expect(await other.offer(.page, ticket, body: theirs) == .superseded)
    let row = try #require(await one.answer(.page)?.row)
    #expect(await one.body(of: row, for: .page) == mine)
    // As long as any other that is replaced, and no longer.
    #expect(await one.share(.page, "short") == .stored)
    #expect(await one.body(of: row, for: .page) == mine)
    let client = try fleet.client()
    var lives: [Int64] = []
    for key in try client.keys() where key.contains(":b:") {
      lives.append(try #require(client.run("PTTL", key).number))
    }
    let short = lives.filter { $0 <= 600_000 }
    #expect(lives.count == 4 && short.count == 2)
  }

  @Test func `a request finds the variant that its fields select`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    func page(_ language: String?) -> TierQuestion {
      var question = TierQuestion.page
      question.fields["Accept-Language"] = language
      return question
    }
    #expect(await machine.share(page(nil), "none", vary: "accept-language") == .stored)
    #expect(await machine.answer(page("de")).map { $0.row == nil } == true)
    #expect(await machine.share(page("de"), "deutsch", vary: "accept-language") == .stored)
    #expect(await machine.share(page("fr"), "français", vary: "accept-language") == .stored)
    for (language, text) in [(nil, "none"), ("de", "deutsch"), ("fr", "français")] as [(String?, String)] {
      let row = await machine.answer(page(language))?.row
      #expect(row?.body == Data(text.utf8))
      #expect(row?.vary == "accept-language")
    }
    #expect(await machine.answer(page("en")).map { $0.row == nil } == true)
  }

  @Test func `where the names in Vary have changed, the variants of the old and of the new are looked for`()
    async throws
  {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    func page(_ type: String?, _ language: String?) -> TierQuestion {
      var question = TierQuestion.page
      question.fields["Accept"] = type
      question.fields["Accept-Language"] = language
      return question
    }
    #expect(await machine.share(page(nil, nil), "none", vary: "accept") == .stored)
    // By chance which of the two comes first.
    let types = ["a", "b", "c", "d", "e", "f", "g"]
    for type in types { #expect(await machine.share(page(type, nil), type, vary: "accept") == .stored) }
    #expect(await machine.share(page(nil, "de"), "deutsch", vary: "accept-language") == .stored)
    for type in types {
      #expect(await machine.answer(page(type, "fr"))?.row?.body == Data(type.utf8))
      #expect(await machine.answer(page("z", "de"))?.row?.body == Data("deutsch".utf8))
      #expect(await machine.answer(page(type, "de"))?.row?.body == Data("deutsch".utf8), "the newer of both")
    }
    #expect(await machine.answer(page("z", "fr")).map { $0.row == nil } == true)
  }

  @Test func `a target has sixteen variants, of which the oldest goes first`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    func page(_ number: Int) -> TierQuestion {
      var question = TierQuestion.page
      question.fields["Accept"] = "type/\(number)"
      return question
    }
    for number in 0..<20 {
      #expect(await machine.share(page(number), "\(number)", vary: "accept") == .stored)
    }
    for number in 0..<20 {
      let row = await machine.answer(page(number))?.row
      #expect(row?.body == (number < 4 ? nil : Data("\(number)".utf8)))
    }
    let client = try fleet.client()
    let row = try #require(client.keys().first)
    // A value and a ticket of each, the newest ticket, the index, and the names.
    #expect(try client.hash(row).count == 16 * 2 + 3)
  }

  @Test func `rows live as long as they are kept, and replaced bodies ten minutes`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url("&keep=2h"))
    let long = String(repeating: "x", count: 300 << 10)
    #expect(await machine.share(.page, long) == .stored)
    let client = try fleet.client()
    let first = try client.keys()
    #expect(first.count == 3)
    for key in first {
      let life = try #require(client.run("PTTL", key).number)
      #expect((7_000_000...7_200_000).contains(life))
    }
    #expect(await machine.share(.page, "short") == .stored)
    for key in first.dropFirst() {
      let life = try #require(client.run("PTTL", key).number)
      #expect((1...600_000).contains(life), "\(key)")
    }
    #expect(await machine.share(.page, long) == .stored)
    #expect(await machine.invalidate(.page))
    for key in try client.keys() where key.contains(":b:") {
      let life = try #require(client.run("PTTL", key).number)
      #expect(life <= 600_000)
    }
    #expect(await machine.share(.page, "short") == .stored)
    let late = try #require(await machine.answer(.page)).ticket
    #expect(await machine.share(.page, "newer") == .stored)
    let count = try client.keys().count
    #expect(await machine.offer(.page, late, body: Data(long.utf8)) == .superseded)
    #expect(try client.keys().count == count, "the pieces of a row that lost are gone")
  }

  @Test func `nothing in the server tells what is shared`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url("&accounts=secret-account"))
    var question = TierQuestion(
      account: "secret-account", target: "https://secret-host.test/secret-path?secret-query", method: "QUERY",
      extra: "secret-extra", body: Data("secret-question".utf8),
      fields: ["Accept-Language": "secret-language"], responder: "https://secret-host.test")
    for (number, length) in [10, 40_000, 300_000].enumerated() {
      question.target += "\(number)"
      let ticket = try #require(await machine.answer(question)).ticket
      let body = Data(String(repeating: "secret-body ", count: length / 12).utf8)
      let fields: HTTPFields = ["X-Secret-Name": "secret-value", "ETag": "\"secret-tag\""]
      #expect(
        await machine.offer(question, ticket, body: body, vary: "accept-language", fields: fields) == .stored)
      #expect(await machine.answer(question)?.row?.head.fields["ETag"] == "\"secret-tag\"")
    }
    #expect(await machine.invalidate(question))
    #expect(await machine.share(question, "secret-body", vary: "accept-language") == .stored)
    let told = question
    await machine.run { await $0.pause(60_000, told) }
    let kinds = Set(try fleet.client().keys().map { $0.prefix(6) })
    #expect(kinds.isSuperset(of: ["cf1:k:", "cf1:o:"]))
    let everything = try fleet.client().everything()
    let text = String(decoding: everything.map { $0 < 0x80 ? $0 : 0x2E }, as: UTF8.self).lowercased()
    #expect(everything.count > 300_000)
    // Of five letters at least: three of any case stand somewhere in every twelfth of such a lot of sealed bytes.
    for word in [
      "secret", "https://", "http/1", ".test/", "accept", "etag:", "query", "200 ok", "language",
      RedisServer.password,
    ] {
      #expect(!text.contains(word), "\(word)")
    }
  }

  @Test
  func `a new key seals as soon as it is first, and what the old one sealed opens as long as it is there`()
    async throws
  {
    let fleet = try await Fleet()
    let (old, new) = (FleetKey.generate(), FleetKey.generate())
    try fleet.writeKeys([old], named: "old")
    try fleet.writeKeys([old, new], named: "both")
    try fleet.writeKeys([new, old], named: "turned")
    try fleet.writeKeys([new], named: "new")
    let files = ["old", "both", "turned", "new"]
    let machines = try files.map { try Machine(fleet.url(key: $0)) }
    #expect(await machines[0].share(.page, "by the old") == .stored)
    for (index, finds) in [true, true, true, false].enumerated() {
      let body = await machines[index].answer(.page)?.row?.body
      #expect(body == (finds ? Data("by the old".utf8) : nil), "\(files[index])")
    }
    #expect(await machines[2].share(.page, "by the new") == .stored)
    for (index, text) in ["by the old", "by the new", "by the new", "by the new"].enumerated() {
      #expect(await machines[index].answer(.page)?.row?.body == Data(text.utf8), "\(files[index])")
    }
    let long = String(repeating: "long", count: 20_000)
    #expect(await machines[1].share(.page, long) == .stored)
    let row = try #require(await machines[2].answer(.page)?.row)
    #expect(await machines[2].body(of: row, for: .page) == Data(long.utf8))
    #expect(await machines[2].invalidate(.page))
    for (file, machine) in zip(files, machines) {
      #expect(await machine.answer(.page).map { $0.row == nil } == true, "\(file)")
    }
    // Of two rows with the same ticket the one under the first key counts.
    let ticket = try #require(await machines[2].answer(.page)).ticket
    #expect(await machines[0].offer(.page, ticket, body: Data("old".utf8)) == .stored)
    #expect(await machines[2].offer(.page, ticket, body: Data("new".utf8)) == .stored)
    #expect(await machines[1].answer(.page)?.row?.body == Data("old".utf8))
    #expect(await machines[2].answer(.page)?.row?.body == Data("new".utf8))
  }

  @Test func `a connection over TLS is made only to the server that the authority vouches for`() async throws
  {
    let certificates = try TestCertificates()
    try await certificates.makeAuthority()
    try await certificates.make("server", host: "localhost")
    let stranger = try TestCertificates()
    try await stranger.makeAuthority(named: "Another authority")
    let fleet = try await Fleet(certificates: certificates)
    func url(_ host: String, _ authority: String) -> String {
      "rediss://\(RedisServer.user)@\(host):\(fleet.server.port)?key-file=\(fleet.folder.file("fleet.key"))"
        + "&password-file=\(fleet.server.folder.file("password"))&patience=60s&ca-file=\(authority)"
    }
    let machine = try Machine(url("localhost", certificates.authority))
    #expect(await machine.share(.page, "over TLS") == .stored, "\(machine.traces.withLock { $0 })")
    let long = Data((0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let ticket = try #require(await machine.answer(.page)).ticket
    #expect(await machine.offer(.page, ticket, body: long) == .stored)
    let row = try #require(await machine.answer(.page)?.row)
    #expect(await machine.body(of: row, for: .page) == long)
    for (host, authority) in [("localhost", stranger.authority), ("127.0.0.1", certificates.authority)] {
      let refused = try Machine(url(host, authority))
      #expect(await refused.silence(.page)?.contains("certificate") == true, "\(host)")
    }
  }

  @Test func `a server that wants to know its clients is shown the certificate`() async throws {
    let certificates = try TestCertificates()
    try await certificates.makeAuthority()
    try await certificates.make("server", host: "localhost")
    try await certificates.make("client", host: "client.test")
    let fleet = try await Fleet(certificates: certificates, directives: "tls-auth-clients yes\n")
    let url =
      "rediss://\(RedisServer.user)@localhost:\(fleet.server.port)?key-file=\(fleet.folder.file("fleet.key"))"
      + "&password-file=\(fleet.server.folder.file("password"))&patience=60s&ca-file=\(certificates.authority)"
    let known = try Machine(
      "\(url)&cert-file=\(certificates.certificate("client"))&cert-key-file=\(certificates.key("client"))")
    #expect(await known.share(.page, "known") == .stored, "\(known.traces.withLock { $0 })")
    let unknown = try Machine(url)
    #expect(await unknown.silence(.page) != nil)
  }

  @Test func `a look into a tier says what is right with it`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    #expect(await machine.share(.page, "x") == .stored)
    #expect(await machine.answer(.page)?.row != nil)
    let findings = await machine.run { await $0.examine() }
    #expect(findings.allSatisfy { $0.severity == .fine }, "\(findings)")
    #expect(
      findings.map(\.subject) == [
        "keys", "connection", "rights", "eviction", "values",
      ])
    #expect(findings.contains { $0.message == "may ask and offer" }, "\(findings)")
    // Beside the row above there is the removal that was tried, until its second is over.
    #expect(try fleet.client().keys().filter { !$0.hasSuffix(":x") }.count == 1)
  }

  /// Redis is delivered with `noeviction` and no limit, which refuses nothing.
  @Test func `a policy of eviction is wrong only where there is a limit that it could reach`() async throws {
    let fleet = try await Fleet(
      directives: "user auditor on \">\(RedisServer.password)\" \(RedisServer.rights) +config|get\n")
    let machine = try Machine(fleet.url(user: "auditor"))
    let client = try fleet.client()
    for (limit, policy, isFine, words) in [
      ("0", "noeviction", true, "no limit"), ("10000000", "noeviction", false, "set maxmemory-policy"),
      ("10000000", "allkeys-lfu", true, "allkeys-lfu"), ("0", "allkeys-lfu", true, "allkeys-lfu"),
    ] {
      try client.run("CONFIG", "SET", "maxmemory", limit)
      try client.run("CONFIG", "SET", "maxmemory-policy", policy)
      let findings = await machine.run { await $0.examine() }
      let found = try #require(findings.first { $0.subject == "eviction" })
      #expect(
        (found.severity == .fine) == isFine && found.message.contains(words), "\(limit) \(policy): \(found)")
    }
  }

  @Test func `a thread that ends says nothing about the tier`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    #expect(await machine.answer(.page) != nil)
    let mark = machine.mark.read()
    #expect(mark < 0)
    await machine.thread.stop()
    #expect(await machine.silence(.page) != nil)
    #expect(machine.mark.read() == mark)
  }

  @Test func `a look into a tier says what is wrong with it`() async throws {
    let fleet = try await Fleet()
    let reader = try Machine(fleet.url(user: RedisServer.reader))
    let rights = await reader.run { await $0.examine() }.filter { $0.severity == .wrong }
    #expect(rights.map(\.subject).allSatisfy { $0 == "rights" })
    #expect(rights.contains { $0.message.hasPrefix("set: NOPERM") }, "\(rights)")
    let client = try fleet.client()
    for (right, words) in [("hset", "offering by a script: "), ("del", "del: NOPERM")] {
      try client.run("ACL", "SETUSER", RedisServer.user, "-\(right)")
      let machine = try Machine(fleet.url())
      let wrong = await machine.run { await $0.examine() }.filter { $0.severity == .wrong }
      #expect(
        wrong.map(\.subject) == ["rights"] && wrong.allSatisfy { $0.message.hasPrefix(words) }, "\(wrong)")
      try client.run("ACL", "SETUSER", RedisServer.user, "+\(right)")
    }
    let readOnly = try Machine(fleet.url(user: RedisServer.reader, "&read-only=yes"))
    let asking = await readOnly.run { await $0.examine() }
    #expect(
      asking.allSatisfy { $0.severity == .fine } && asking.contains { $0.message.hasPrefix("may ask, as a ") }
    )
    let noKey = try Machine(fleet.url(key: "none"))
    #expect(await noKey.run { await $0.examine() }.first?.message.contains("key-file") == true)
    await fleet.server.stop()
    let gone = await readOnly.run { await $0.examine() }.filter { $0.severity == .wrong }
    #expect(gone.map(\.subject) == ["connection"])
  }
}
