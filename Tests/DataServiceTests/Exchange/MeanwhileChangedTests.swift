import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

/// What an unsafe request, or a sign-out, means for exchanges that are under way with it.
@Suite("Changed or signed out meanwhile", .inTurn) struct MeanwhileChangedTests {
  private let url = URL(string: "http://origin.test/item")

  // MARK: Unsafe requests (RFC 9111 section 4.4)

  /// What GET answers before and after the first POST.
  private func transport(
    posting: @escaping @Sendable () async -> Void = {}
  ) -> ScriptedTransport {
    let isChanged = Gate()
    return ScriptedTransport { request, _ async throws(DataServiceError) in
      if request.method == .post {
        await posting()
        isChanged.open()
        return .answer("done")
      }
      return .answer(isChanged.isOpen ? "new" : "old", ["Cache-Control": "max-age=3600"])
    }
  }

  @Test func `what was read while a change was under way is not fresh after it`() async throws {
    let url = try #require(url)
    let (isPosting, mayPost) = (Gate(), Gate())
    let fixture = try ServiceFixture(
      transport: transport {
        isPosting.open()
        await mayPost.wait()
      })
    let post = Task {
      await fixture.outline(url, policy: .freshOnly) {
        $0.method = .post
        $0.body = Data("x".utf8)
      }
    }
    await isPosting.wait()
    #expect(await fixture.outline(url, policy: .http) == ["fresh(old, new)"])
    #expect(await fixture.outline(url, policy: .http) == ["stored(old)"], "nothing has changed yet")
    mayPost.open()
    #expect(await post.value == ["fresh(done, new)"])
    #expect(await fixture.outline(url, policy: .http) == ["fresh(new, changed)"])
    await fixture.service.close()
  }

  @Test func `a change with credentials is one of what is stored without them too, and not of others'`()
    async throws
  {
    let url = try #require(url)
    let fixture = try ServiceFixture(transport: transport())
    let bob = { @Sendable (request: inout DataService.Request) in request.account = .named("bob") }
    #expect(await fixture.outline(url, policy: .http) == ["fresh(old, new)"])
    #expect(await fixture.outline(url, policy: .http, configure: bob) == ["fresh(old, new)"])
    _ = await fixture.outline(url, policy: .freshOnly) {
      $0.method = .post
      $0.body = Data("x".utf8)
      $0.account = .named("alice")
    }
    #expect(await fixture.outline(url, policy: .http) == ["fresh(new, changed)"])
    #expect(await fixture.outline(url, policy: .http, configure: bob) == ["stored(old)"])
    await fixture.service.close()
  }

  /// What follows the head of the answer to a POST.
  enum Rest: String, CaseIterable, Sendable {
    case answered, refused, repeated, cutOff, tooLarge
  }

  @Test("it is a change, whatever follows the head of its answer", arguments: Rest.allCases)
  func rest(_ rest: Rest) async throws {
    let url = try #require(url)
    let isChanged = Gate()
    let fixture = try ServiceFixture.scripted { request, _ throws(DataServiceError) in
      guard request.url == url else {
        if rest == .refused { throw DataServiceError(.refused, "refused") }
        return .answer("elsewhere")
      }
      guard request.method == .post else {
        return .answer(isChanged.isOpen ? "new" : "old", ["Cache-Control": "max-age=3600"])
      }
      isChanged.open()
      switch rest {
      case .answered, .refused: return .answer("", status: 303, ["Location": "/item/5"])
      case .repeated: return .answer("", status: 307, ["Location": "/other"])
      case .cutOff:
        return TransportResponse(
          version: "1.1", status: 200, reason: "OK", fields: [:],
          body: DataService.BodyStream(length: 10) { () throws(DataServiceError) -> Data? in
            throw DataServiceError(.truncated, "cut off")
          })
      case .tooLarge: return .answer("too much")
      }
    }
    #expect(await fixture.outline(url, policy: .http) == ["fresh(old, new)"])
    let posted = await fixture.outline(url, policy: .freshOnly) {
      $0.method = .post
      $0.body = Data("x".utf8)
      if rest == .tooLarge { $0.limits.bodyBytes = 3 }
    }
    switch rest {
    case .answered, .repeated: #expect(posted == ["fresh(elsewhere, new)"])
    case .refused: #expect(posted == ["failure(refused)"])
    case .cutOff: #expect(posted == ["failure(truncated)"])
    case .tooLarge: #expect(posted == ["failure(tooLarge)"])
    }
    #expect(await fixture.outline(url, policy: .http) == ["fresh(new, changed)"])
    await fixture.service.close()
  }

  // MARK: Exchanges under way

  /// What happens while a GET is under way.
  enum Meanwhile: String, CaseIterable, Sendable {
    case posted, postedElsewhere, invalidated, invalidatedElsewhere

    var isElsewhere: Bool { self == .postedElsewhere || self == .invalidatedElsewhere }
  }

  @Test("what begins after a change joins no exchange that began before it", arguments: Meanwhile.allCases)
  func joining(meanwhile: Meanwhile) async throws {
    let url = try #require(url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let isChanged = Gate()
    let fixture = try ServiceFixture.scripted { request, number async throws(DataServiceError) in
      if request.method == .post || number == 1 { return .answer("first") }
      guard !isChanged.isOpen else { return .answer("new") }
      isAsked.open()
      await mayAnswer.wait()
      return .answer("old")
    }
    #expect(await fixture.outline(url) == ["fresh(first, new)"])
    async let early = fixture.outline(url)
    await isAsked.wait()
    isChanged.open()
    let elsewhere = try #require(URL(string: "http://origin.test/other"))
    switch meanwhile {
    case .posted, .postedElsewhere:
      _ = await fixture.outline(meanwhile.isElsewhere ? elsewhere : url, policy: .freshOnly) {
        $0.method = .post
        $0.body = Data("x".utf8)
      }
    case .invalidated: #expect(try await fixture.service.invalidate(.all) == 1)
    case .invalidatedElsewhere:
      let other = try fixture.service.selection(for: .init(elsewhere))
      #expect(try await fixture.service.invalidate(other) == 0)
    }
    if meanwhile.isElsewhere {
      async let late = fixture.outline(url)
      await fixture.traced("joining")
      mayAnswer.open()
      #expect(await late == ["stored(first)", "fresh(old, changed)"])
      #expect(await early == ["stored(first)", "fresh(old, changed)"])
    } else {
      // Were the earlier exchange joined, or followed, this would wait for ever.
      #expect(await fixture.outline(url) == ["stored(first)", "fresh(new, changed)"])
      mayAnswer.open()
      #expect(await early == ["stored(first)", "fresh(old, changed)"])
      #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(new)"])
    }
    await fixture.service.close()
  }

  // MARK: Sign-out by another process

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    /// Whether the account has a response before.
    let isFilled: Bool
    let answer: @Sendable (TransportRequest) -> TransportResponse
    var change: @Sendable (inout DataService.Request) -> Void = { _ in }
    var testDescription: String { name }
  }

  private static let cases: [Case] = [
    Case(name: "a first answer that may not be stored", isFilled: false) { _ in
      .answer("secret", ["Cache-Control": "no-store"])
    },
    Case(name: "a first answer that is an error", isFilled: false) { _ in .answer("secret", status: 404) },
    Case(name: "an answer that may not be stored", isFilled: true) { _ in
      .answer("secret", ["Cache-Control": "no-store"])
    },
    Case(name: "a confirmation that may not be stored", isFilled: true) { request in
      request.fields["If-None-Match"] == nil
        ? .answer("secret", ["ETag": "\"1\""])
        : .answer("", status: 304, ["ETag": "\"1\"", "Cache-Control": "no-store"])
    },
    Case(
      name: "an answer of a status that the load does not accept", isFilled: true,
      answer: { _ in .answer("secret", status: 203) }, change: { $0.acceptedStatuses = 200...200 }),
    Case(
      name: "a change", isFilled: true, answer: { _ in .answer("secret") },
      change: {
        $0.method = .post
        $0.body = Data("x".utf8)
      }),
    Case(
      name: "a request that bypasses the store", isFilled: true, answer: { _ in .answer("secret") },
      change: { $0.fields["Cache-Control"] = "no-store" }),
  ]

  @Test("what was asked for before the sign-out is not delivered after it", arguments: cases)
  func signedOut(testCase: Case) async throws {
    let url = try #require(url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let isHeld = Gate()
    let fixture = try ServiceFixture.scripted { request, _ async throws(DataServiceError) in
      if isHeld.isOpen {
        isAsked.open()
        await mayAnswer.wait()
      }
      return isHeld.isOpen || testCase.name.hasPrefix("a confirmation")
        ? testCase.answer(request) : .answer("before", ["ETag": "\"1\""])
    }
    let other = try ServiceFixture(store: fixture.store)
    // The store is there, so that the other one has something to sign out of.
    _ = try await fixture.service.store.accountID(named: "")
    let alice = { @Sendable (request: inout DataService.Request) in request.account = .named("alice") }
    if testCase.isFilled { _ = await fixture.outline(url, configure: alice) }
    isHeld.open()
    let load = Task {
      await fixture.outline(url, policy: .freshOnly) {
        alice(&$0)
        testCase.change(&$0)
      }
    }
    await isAsked.wait()
    // The account's row is made while the origin is asked.
    #expect(
      await eventually {
        (try? fixture.store.value("SELECT count(*) FROM account WHERE name = 'alice'")) == 1
      })
    _ = try await other.service.signOut(.named("alice"))
    mayAnswer.open()
    #expect(await load.value == ["failure(signedOut)"], "\(testCase.name)")
    await other.service.close()
    await fixture.service.close()
  }

  /// What ends the wait for the origin's answer.
  enum Ending: String, CaseIterable, Sendable {
    case answer, failure, deadline
  }

  @Test(
    "no policy falls back on what is stored of an account that was signed out", arguments: [false, true],
    Ending.allCases)
  func fallingBack(byAnother: Bool, ending: Ending) async throws {
    let url = try #require(url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      if number > 1 {
        isAsked.open()
        await mayAnswer.wait()
        if ending == .failure { throw DataServiceError(.refused, "refused") }
      }
      return .answer("body \(number)")
    }
    let clock = VirtualClock()
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    let other = try ServiceFixture(store: fixture.store, timekeeper: clock)
    let alice = { @Sendable (request: inout DataService.Request) in request.account = .named("alice") }
    #expect(await fixture.outline(url, configure: alice) == ["fresh(body 1, new)"])
    let load = Task {
      await fixture.outline(url, policy: .freshElseStored(within: .seconds(60)), configure: alice)
    }
    await isAsked.wait()
    #expect(try await (byAnother ? other : fixture).service.signOut(.named("alice")))
    if ending == .deadline { clock.advance(by: .seconds(60)) } else { mayAnswer.open() }
    #expect(await load.value == ["failure(signedOut)"])
    mayAnswer.open()
    await other.service.close()
    await fixture.service.close()
  }

  // MARK: A range of the caller's own

  @Test func `a range of the caller's own is asked for, whatever download was cut off`() async throws {
    let url = try #require(URL(string: RangeOfOnesOwn.url))
    let (fixture, transport) = try RangeOfOnesOwn.fixture { request, number throws(DataServiceError) in
      if number == 1 { return RangeOfOnesOwn.cutOff }
      let range = request.fields["Range"] ?? "none"
      return .answer(range, status: 206, ["Content-Range": "bytes 0-9/9000", "ETag": "\"1\""])
    }
    let whole = await RangeOfOnesOwn.load(fixture, try RangeOfOnesOwn.request())
    #expect(RangeOfOnesOwn.kind(whole) == .truncated)
    #expect(
      await fixture.outline(url, policy: .http) { $0.fields["Range"] = "bytes=0-9" }.first?.contains(
        "bytes=0-9")
        == true)
    #expect(transport.requests.last?.fields["If-Range"] == nil)
    // The download itself goes on where it was cut off.
    _ = await RangeOfOnesOwn.load(fixture, try RangeOfOnesOwn.request())
    #expect(transport.requests.dropFirst(2).first?.fields["Range"] == "bytes=5000-")
    await fixture.service.close()
  }
}

/// A download that is cut off in its middle.
private enum RangeOfOnesOwn: CutOffDownload {
  static var cutOff: TransportResponse { ResumedReply.whole(content, ["ETag": "\"1\""], cutAt: cut) }
}
