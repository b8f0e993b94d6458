import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Rows that a program marks, and rows that it makes", .inTurn) struct MarkingTests {
  private static let address = "http://example.test/feed"

  private func url() throws -> URL { try #require(URL(string: Self.address)) }

  private func numbered(_ fields: HTTPFields = [:]) -> ScriptedTransport {
    ScriptedTransport { request, number in
      request.fields["If-None-Match"] == nil
        ? .answer("body \(number)", fields) : .answer("", status: 304, fields)
    }
  }

  @Test func `pins and tags go again, of what is selected`() async throws {
    let fixture = try ServiceFixture(transport: numbered())
    let other = try #require(URL(string: "http://example.test/feeds"))
    for url in [try url(), other] {
      _ = await fixture.outline(url) {
        $0.isPinned = true
        $0.tags = ["a", "b"]
      }
    }
    let service = fixture.service
    let selection = try service.selection(for: .init(url()))
    #expect(try await service.entries(selection).map(\.key.target) == [Self.address])
    #expect(try await service.unpin(selection) == 1)
    #expect(try await service.unpin(selection) == 0)
    #expect(try await service.untag(selection, tag: "a") == 1)
    #expect(try await service.untag(selection, tag: "a") == 0)
    let entry = try #require(try await service.entries(selection).first)
    #expect(!entry.response.isPinned && entry.tags == ["b"] && entry.isSound)
    let kept = try #require(try await service.entries(service.selection(for: .init(other))).first)
    #expect(kept.response.isPinned && kept.tags == ["a", "b"])
    #expect(try await service.unpin(.all) == 1)
    #expect(try await service.untag(.all, tag: "b") == 2)
  }

  @Test func `a load that begins after a removal asks for itself, and is stored`() async throws {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = ScriptedTransport { _, number in
      if number == 1 {
        isAsked.open()
        await mayAnswer.wait()
      }
      return .answer("body \(number)")
    }
    let (fixture, url) = (try ServiceFixture(transport: transport), try url())
    async let before = fixture.deliveries(url)
    await isAsked.wait()
    #expect(try await fixture.service.remove(.all) == 0)
    let after = await fixture.deliveries(url)
    #expect(after.map(\.outline) == ["fresh(body 2, new)"] && after.map(\.kept) == [.yes])
    mayAnswer.open()
    #expect(await before.map(\.kept) == [.no(.superseded)])
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(body 2)"])
    await fixture.service.close()
  }

  @Test func `what is invalidated is stale, seen by observers, and asked for by the next load`() async throws
  {
    let transport = numbered(["ETag": "\"1\"", "Cache-Control": "max-age=3600"])
    let fixture = try ServiceFixture(transport: transport)
    let (service, url) = (fixture.service, try url())
    _ = await fixture.outline(url)
    let patient = FetchPolicy.storedElseFresh(maxAge: .seconds(3600))
    #expect(await fixture.outline(url, policy: patient) == ["stored(body 1)"])
    var changes = service.changes(to: .init(url)).makeAsyncIterator()
    #expect(try await changes.next()??.isStale == false)
    #expect(try await service.invalidate(.all) == 1)
    #expect(try await service.invalidate(.all) == 0)
    #expect(try await changes.next()??.isStale == true)
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(body 1)"])
    #expect(transport.requests.count == 1)
    #expect(await fixture.outline(url, policy: patient) == ["fresh(body 1, unchanged)"])
    #expect(transport.requests.last?.fields["If-None-Match"] == "\"1\"")
    #expect(try await changes.next()??.isStale == false)
    #expect(await fixture.outline(url, policy: .http) == ["stored(body 1)"])
  }

  @Test func `what a program stores is delivered first, and replaced by the next, unconditional exchange`()
    async throws
  {
    let transport = numbered(["ETag": "\"1\""])
    let fixture = try ServiceFixture(transport: transport)
    let (service, url) = (fixture.service, try url())
    _ = await fixture.outline(url)
    var changes = service.changes(to: .init(url)).makeAsyncIterator()
    #expect(try await changes.next()??.isLocal == false)
    let seed = Data("seed".utf8)
    let kept = try await service.store(
      seed, for: .init(url), fields: ["Content-Type": "text/plain", "ETag": "\"1\"", "Set-Cookie": "a=b"])
    #expect(kept == .yes)
    let next = try await changes.next()
    let change = try #require(next.flatMap { $0 })
    #expect(change.isLocal && change.value == seed)
    #expect(change.fields["ETag"] == nil && change.fields["Set-Cookie"] == nil)
    #expect(change.fields["Content-Type"] == "text/plain")
    #expect(await fixture.outline(url) == ["stored(seed)", "fresh(body 2, changed)"])
    #expect(transport.requests.last?.fields["If-None-Match"] == nil)
    #expect(try await changes.next()??.isLocal == false)
  }

  @Test
  func
    `law 8: an exchange that began earlier does not overwrite what a program stores, one that begins later does`()
    async throws
  {
    let (began, mayAnswer) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { _, number in
      guard number == 1 else { return .answer("body \(number)") }
      began.open()
      await mayAnswer.wait()
      // Another variant would stand beside it.
      return .answer("body 1", ["Vary": "Accept-Language"])
    }
    let (service, url) = (fixture.service, try url())
    let inGerman: @Sendable (inout DataService.Request) -> Void = { $0.fields["Accept-Language"] = "de" }
    var request = DataService.Request(url)
    inGerman(&request)
    async let early = fixture.deliveries(url, policy: .freshOnly, configure: inGerman)
    await began.wait()
    #expect(try await service.store(Data("optimistic".utf8), for: request) == .yes)
    mayAnswer.open()
    #expect(await early.last?.kept == .no(.superseded))
    #expect(try await service.entries().map(\.response.isLocal) == [true])
    #expect(await fixture.outline(url, policy: .storedOnly, configure: inGerman) == ["stored(optimistic)"])
    #expect(await fixture.outline(url, policy: .freshOnly, configure: inGerman) == ["fresh(body 2, changed)"])
    #expect(await fixture.outline(url, policy: .storedOnly, configure: inGerman) == ["stored(body 2)"])
  }

  @Test func `law 8: what begins later replaces what a program stores, whatever its Vary says`() async throws
  {
    let fixture = try ServiceFixture.scripted { _, number in .answer("body \(number)", ["Vary": "Accept"]) }
    let (service, url) = (fixture.service, try url())
    let asJSON: @Sendable (inout DataService.Request) -> Void = { $0.fields["Accept"] = "application/json" }
    var request = DataService.Request(url)
    asJSON(&request)
    (request.isPinned, request.tags) = (true, ["mine"])
    #expect(try await service.store(Data("mine".utf8), for: request) == .yes)
    #expect(await fixture.outline(url, policy: .freshOnly, configure: asJSON) == ["fresh(body 1, changed)"])
    #expect(await fixture.outline(url, policy: .storedOnly, configure: asJSON) == ["stored(body 1)"])
    #expect(await fixture.outline(url, policy: .storedOnly) == ["failure(notStored)"])
    let entries = try await service.entries()
    #expect(entries.map(\.response.isLocal) == [false] && entries.allSatisfy(\.isSound))
    #expect(entries.first?.response.isPinned == true && entries.first?.tags == ["mine"])
  }

  @Test func `what a program stores for one variant does not hide the others`() async throws {
    let fixture = try ServiceFixture.scripted { request, _ in
      .answer("in \(request.fields["Accept-Language"] ?? "none")", ["Vary": "Accept-Language"])
    }
    let (service, url) = (fixture.service, try url())
    let inGerman: @Sendable (inout DataService.Request) -> Void = { $0.fields["Accept-Language"] = "de" }
    let inEnglish: @Sendable (inout DataService.Request) -> Void = { $0.fields["Accept-Language"] = "en" }
    _ = await fixture.outline(url, configure: inGerman)
    var request = DataService.Request(url)
    inEnglish(&request)
    #expect(try await service.store(Data("mine".utf8), for: request) == .yes)
    #expect(await fixture.outline(url, policy: .storedOnly, configure: inGerman) == ["stored(in de)"])
    #expect(await fixture.outline(url, policy: .storedOnly, configure: inEnglish) == ["stored(mine)"])
    #expect(await fixture.outline(url, policy: .storedOnly) == ["failure(notStored)"])
  }

  @Test func `law 8: a 304 that was asked for earlier does not confirm what a program stores`() async throws {
    let (began, mayAnswer) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { request, number in
      guard number == 2 else { return .answer("body \(number)", ["ETag": "\"1\""]) }
      began.open()
      await mayAnswer.wait()
      return .answer("", status: 304, ["ETag": "\"1\""])
    }
    let (service, url) = (fixture.service, try url())
    _ = await fixture.outline(url)
    async let early = fixture.outline(url, policy: .freshOnly)
    await began.wait()
    #expect(try await service.store(Data("optimistic".utf8), for: .init(url)) == .yes)
    mayAnswer.open()
    #expect(await early.last?.hasPrefix("fresh(body 3") == true, "asked again, without a condition")
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(optimistic)"])
  }

  @Test func `nothing is stored for what is never stored, or is too long`() async throws {
    let fixture = try ServiceFixture(transport: numbered())
    let service = fixture.service
    let post = DataService.Request(try url(), method: .post)
    await #expect {
      try await service.store(Data(), for: post)
    } throws: { ($0 as? DataServiceError)?.kind == .invalidRequest }
    var read = post
    read.isRead = true
    #expect(try await service.store(Data("read".utf8), for: read) == .yes)
    var limited = DataService.Request(try url())
    limited.limits.bodyBytes = 3
    let small = limited
    await #expect {
      try await service.store(Data("four".utf8), for: small)
    } throws: { ($0 as? DataServiceError)?.kind == .tooLarge }
    // Longer than a chunk, and as old as the program that brings it.
    let long = Data(repeating: 7, count: 1_000_000)
    let old = Date(timeIntervalSinceNow: -86_400)
    #expect(try await service.store(long, for: .init(url()), receivedAt: old) == .yes)
    let response = try await service.response(for: .init(url()), policy: .storedOnly)
    #expect(response.value == long && response.isLocal && response.age >= .seconds(86_400))
    // What no clock shows is no date.
    let endless = Date(timeIntervalSince1970: .infinity)
    #expect(try await service.store(long, for: .init(url()), receivedAt: endless) == .yes)
  }
}
