import CacheStore
import DataService
import DataServiceTesting
import Dispatch
import FixtureServer
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

/// What is stored, where a load cannot use it, and where the origin has
/// something newer that is not kept.
@Suite("Answers that are of no use to a load, or are not kept", .inTurn)
struct UnkeptAnswerTests {
  private static let address = "https://api.example.com/news"

  private struct Old: Codable, Sendable, Equatable { var edition: Int }
  private struct New: Codable, Sendable, Equatable { var edition: Int, headline: String }

  private func news() throws -> DataService.Request { .init(try #require(URL(string: Self.address))) }

  @Test("what a decoder refuses is not confirmed: the origin is asked once more", arguments: [true, false])
  func undecodable(forbidsStoring: Bool) async throws {
    let validators: [HTTPFields] = [
      ["ETag": "\"1\""], ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
    ]
    for fields in validators {
      let body = forbidsStoring ? #"{"edition":1}"# : #"{"edition":1,"headline":"hi"}"#
      let transport = ScriptedTransport { request, number in
        let isConditional = ["If-None-Match", "If-Modified-Since"].contains { request.fields.contains($0) }
        var fields = fields
        if forbidsStoring { fields["Cache-Control"] = number == 1 ? nil : "no-store" }
        return .answer(
          number == 1 ? #"{"edition":1}"# : isConditional ? "" : #"{"edition":1,"headline":"hi"}"#,
          status: isConditional ? 304 : 200, fields)
      }
      let test = try TestService(transport: transport)
      #expect(try await test.service.response(for: news(), as: Old.self).value == Old(edition: 1))
      var seen: [New?] = []
      for await delivery in test.service.deliveries(for: try news(), as: New.self) {
        if case .fresh(let response, _) = delivery { seen.append(response.value) }
      }
      #expect(seen == [New(edition: 1, headline: "hi")] && transport.requests.count == 3)
      #expect(try await test.service.response(for: news(), policy: .storedOnly).value == Data(body.utf8))
      await test.close()
    }
  }

  /// An answer after which what is stored is known to be old.
  struct Newer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let answer: ScriptedOrigin.Answer
  }

  static let answers: [Newer] = [
    Newer(testDescription: "no-store", answer: .text("two", fields: ["Cache-Control": "no-store"])),
    Newer(testDescription: "Vary: *", answer: .text("two", fields: ["Vary": "*"])),
    Newer(testDescription: "too large", answer: .text(String(repeating: "two", count: 700_000))),
    Newer(testDescription: "404", answer: .text("gone", status: 404)),
    Newer(testDescription: "410", answer: .text("gone", status: 410)),
  ]

  @Test(
    "law 5: a row that the origin has replaced, or has no more, stays and counts as old", arguments: answers)
  func marked(newer: Newer) async throws {
    let young: [FetchPolicy] = [
      .http, .storedThenFresh(ifOlderThan: .seconds(3600)), .storedElseFresh(maxAge: .seconds(3600)),
    ]
    for policy in [FetchPolicy.freshOnly, .http] {
      for next in young {
        let test = try TestService { $0.store.maximumBytes = 4_000_000 }
        var request = try news()
        test.origin.answer(Self.address, with: .text("one", fields: ["Cache-Control": "max-age=3600"]))
        _ = try await test.service.response(for: request)
        test.clock.advance(by: .seconds(1))
        test.origin.answer(Self.address, with: newer.answer)
        if policy == .http { request.fields["Cache-Control"] = "no-cache" }
        _ = try? await test.service.response(for: request, policy: policy)
        test.clock.advance(by: .seconds(1))
        request = try news()
        let stored = try await test.service.response(for: request, policy: .storedOnly)
        #expect(stored.value == Data("one".utf8) && stored.isStale, "\(policy), \(next)")
        let asked = test.origin.requests.count
        test.origin.answer(Self.address, with: .text("three"))
        var last: Data?
        for await delivery in test.service.deliveries(for: request, policy: next) { last = delivery.value }
        if newer.testDescription.hasPrefix("4"), policy == .http, next == .http { continue }
        #expect(last == Data("three".utf8) && test.origin.requests.count == asked + 1, "\(policy), \(next)")
        await test.close()
      }
    }
  }

  @Test func `law 11: an answer that is not kept marks nothing for a load that was cancelled`() async throws {
    let fixture = try ServiceFixture.scripted { _, number in
      .answer("\(number)", ["Cache-Control": number == 1 ? "max-age=3600" : "no-store"])
    }
    _ = try await fixture.service.response(for: news())
    let (isDecoding, mayDecode) = (Gate(), Gate())
    let load = fixture.service.load(
      try news(), policy: .freshOnly, queue: DispatchQueue(label: "callbacks"),
      decode: { response in
        isDecoding.open()
        mayDecode.wait()
        return response.text
      }, deliver: { _ in })
    await isDecoding.wait()
    load.cancel()
    mayDecode.open()
    await load.finished()
    await fixture.settled()
    #expect(try await fixture.service.response(for: news(), policy: .storedOnly).isStale == false)
    await fixture.service.close()
  }

  @Test func `a live screen does not ask again because its own 404 has marked what is stored`() async throws {
    let test = try TestService()
    test.origin.answer(Self.address, with: .text("1"), .text("gone", status: 404))
    _ = try await test.service.response(for: news())
    let live = test.service.live(try news(), as: Int.self)
    var outlines: [String] = []
    for await delivery in live {
      outlines.append("\(delivery.error?.kind.name ?? "ok") \(delivery.value ?? 0)")
      if outlines.count == 2 {
        test.origin.answer(Self.address, with: .text("2"))
        live.refetch()
      }
      if outlines.count == 3 { break }
    }
    #expect(outlines == ["ok 1", "status 0", "ok 2"])
    #expect(test.origin.requests.count == 3)
    await test.close()
  }
}
