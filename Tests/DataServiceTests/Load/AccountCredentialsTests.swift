import CacheStore
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// Within an account that the caller named, the account stands for the credentials.
@Suite("The credentials of an account", .inTurn) struct AccountCredentialsTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "https://a.test/x")) }

  private func fixture(_ fields: HTTPFields) throws -> ServiceFixture {
    try ServiceFixture(
      transport: ScriptedTransport { request, number in
        request.fields.contains("If-None-Match")
          ? .answer("", status: 304, fields) : .answer("body \(number)", fields)
      })
  }

  private func asking(_ token: String?, of account: String? = "alice", language: String? = nil)
    -> @Sendable (inout DataService.Request) -> Void
  {
    { request in
      if let account { request.account = .named(account) }
      if let token { request.fields["Authorization"] = token }
      if let language { request.fields["Accept-Language"] = language }
    }
  }

  private func variants(_ fixture: ServiceFixture) async throws -> [String] {
    try await fixture.service.entries().map(\.response.variant)
  }

  @Test func `a renewed token, and none, finds the rows of its account, and its answer replaces them`()
    async throws
  {
    let fixture = try fixture(["Vary": "Authorization, Accept-Language"])
    #expect(await fixture.outline(url, configure: asking("Bearer 1")) == ["fresh(body 1, new)"])
    for token in ["Bearer 1", "Bearer 2", nil] {
      let found = await fixture.outline(url, policy: .storedOnly, configure: asking(token))
      #expect(found == ["stored(body 1)"], "\(token ?? "none")")
    }
    let german = await fixture.outline(
      url, policy: .storedOnly, configure: asking("Bearer 1", language: "de"))
    #expect(german == ["failure(notStored)"])
    #expect(
      await fixture.outline(url, configure: asking("Bearer 2")) == [
        "stored(body 1)", "fresh(body 2, changed)",
      ])
    #expect(try await variants(fixture).count == 1)
    for token in ["Bearer 1", "Bearer 2", nil] {
      let found = await fixture.outline(url, policy: .storedOnly, configure: asking(token))
      #expect(found == ["stored(body 2)"], "\(token ?? "none")")
    }
    await fixture.service.close()
  }

  @Test func `a 304 to a renewed token makes the row its own`() async throws {
    let fixture = try fixture(["Vary": "Authorization", "ETag": "\"1\"", "Cache-Control": "max-age=60"])
    _ = await fixture.outline(url, configure: asking("Bearer 1"))
    let old = try await variants(fixture)
    #expect(
      await fixture.outline(url, configure: asking("Bearer 2")) == [
        "stored(body 1)", "fresh(body 1, unchanged)",
      ])
    let new = try await variants(fixture)
    #expect(new.count == 1 && new != old)
    await fixture.service.close()
  }

  @Test func `under http each credential counts, RFC 9111 section 4.1`() async throws {
    let fixture = try fixture(["Vary": "Authorization", "Cache-Control": "max-age=60"])
    let first = await fixture.outline(url, policy: .http, configure: asking("Bearer 1"))
    #expect(first == ["fresh(body 1, new)"])
    #expect(
      await fixture.outline(url, policy: .http, configure: asking("Bearer 1")) == ["stored(body 1)"])
    for token in ["Bearer 2", nil] {
      let other = await fixture.outline(url, policy: .http, configure: asking(token))
      #expect(other.count == 1 && other[0].hasPrefix("fresh("), "\(token ?? "none")")
    }
    await fixture.service.close()
  }

  @Test func `without a named account other credentials are another's`() async throws {
    let fixture = try fixture(["Vary": "Authorization"])
    _ = await fixture.outline(url, configure: asking("Bearer 1", of: nil))
    for token in ["Bearer 2", nil] {
      let other = await fixture.outline(url, policy: .storedOnly, configure: asking(token, of: nil))
      #expect(other == ["failure(notStored)"], "\(token ?? "none")")
    }
    await fixture.service.close()
  }

  @Test func `explained is what a load would do`() async throws {
    let fixture = try fixture(["Vary": "Authorization"])
    _ = await fixture.outline(url, configure: asking("Bearer 1"))
    var request = DataService.Request(url)
    asking(nil)(&request)
    let explained = try await fixture.service.explain(request)
    #expect(explained.variants.map(\.isMatch) == [true])
    #expect(!explained.changes.contains { $0.contains("would not match") }, "\(explained.changes)")
    await fixture.service.close()
  }

  @Test func `a renewed token goes on with a download that the one before began`() async throws {
    let content = distinctBytes(9_000)
    let transport = ScriptedTransport { request, number throws(DataServiceError) in
      let fields: HTTPFields = ["ETag": "\"v\"", "Vary": "Authorization"]
      guard let start = ResumedReply.start(of: request) else {
        return ResumedReply.whole(content, fields, cutAt: number == 1 ? 5_000 : nil)
      }
      var rest = fields
      rest.append("Content-Range", "bytes \(start)-\(content.count - 1)/\(content.count)")
      return ResumedReply.part(Array(content[start...]), rest)
    }
    let fixture = try ServiceFixture(transport: transport) { $0.store.chunkBytes = 1_024 }
    func load(_ token: String) async -> [String] {
      await fixture.outline(url, policy: .freshOnly) {
        asking(token)(&$0)
        $0.limits.retries = 0
      }
    }
    #expect(await load("Bearer 1") == ["failure(truncated)"])
    #expect(await load("Bearer 2").count == 1)
    #expect(transport.requests.map { $0.fields["Range"] } == [nil, "bytes=5000-"])
    await fixture.service.close()
  }

  @Test func `the media types that a load accepts select no variant`() async throws {
    let fixture = try fixture(["Vary": "Accept", "Content-Type": "a/b"])
    for (index, types) in [["a/b"], [], ["a/*", "c/d"]].enumerated() {
      let found = await fixture.outline(url) { $0.acceptedMediaTypes = types }
      let fresh = "fresh(body \(index + 1), \(index == 0 ? "new" : "changed"))"
      #expect(found == (index == 0 ? [fresh] : ["stored(body \(index))", fresh]))
    }
    #expect(try await variants(fixture) == [""])
    await fixture.service.close()
  }
}
