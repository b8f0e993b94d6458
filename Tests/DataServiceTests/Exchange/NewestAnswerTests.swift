import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

/// Law 6, where `Vary` and `Date` would tell two answers to one request apart.
@Suite("Of the answers to one request the newest is got, whatever it says of itself", .inTurn)
struct NewestAnswerTests {
  private static let url = "http://origin.test/item"
  private static let past = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let toCome = "Fri, 31 Dec 9999 23:59:59 GMT"

  /// The fields of the first answer, and those of the later ones.
  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let first: HTTPFields
    let later: HTTPFields
  }

  static let changes = [
    Change(testDescription: "Vary appears", first: [:], later: ["Vary": "Accept-Language", "Date": past]),
    Change(
      testDescription: "a Date to come", first: ["Date": toCome],
      later: ["Vary": "Accept-Language", "Date": past]),
    Change(
      testDescription: "Vary goes", first: ["Vary": "Accept-Language", "Date": toCome], later: ["Date": past]),
    Change(
      testDescription: "Vary names another field", first: ["Vary": "Accept-Language", "Date": toCome],
      later: ["Vary": "Accept", "Date": past]),
  ]

  @Test(arguments: changes) func `each load is given the answer of the one before it, and there is one row`(
    change: Change
  ) async throws {
    let url = try #require(URL(string: Self.url))
    let fixture = try ServiceFixture.scripted { _, number in
      .answer("edition \(number)", number == 1 ? change.first : change.later)
    }
    let language = { (request: inout DataService.Request) in request.fields["Accept-Language"] = "en" }
    #expect(await fixture.outline(url, configure: language) == ["fresh(edition 1, new)"])
    for edition in 2...4 {
      let expected = ["stored(edition \(edition - 1))", "fresh(edition \(edition), changed)"]
      #expect(await fixture.outline(url, configure: language) == expected)
    }
    #expect(await fixture.outline(url, policy: .storedOnly, configure: language) == ["stored(edition 4)"])
    #expect(try fixture.store.value("SELECT count(*) FROM last_request") == .integer(1))
    await fixture.service.close()
  }

  @Test func `the answers to other requests stay`() async throws {
    let url = try #require(URL(string: Self.url))
    let fixture = try ServiceFixture.scripted { request, _ in
      .answer(request.fields["Accept-Language"] ?? "", ["Vary": "Accept-Language"])
    }
    for language in ["en", "de", "en"] {
      _ = await fixture.outline(url) { $0.fields["Accept-Language"] = language }
    }
    for language in ["en", "de"] {
      let stored = await fixture.outline(url, policy: .storedOnly) { $0.fields["Accept-Language"] = language }
      #expect(stored == ["stored(\(language))"])
    }
    await fixture.service.close()
  }

  @Test func `what http keeps besides goes with the next good answer`() async throws {
    let url = try #require(URL(string: Self.url))
    let fixture = try ServiceFixture.scripted { _, number in
      .answer("answer \(number)", status: number == 1 ? 404 : 200, ["Cache-Control": "max-age=600"])
    }
    #expect(await fixture.outline(url, policy: .http) == ["fresh(answer 1, new)"])
    #expect(await fixture.outline(url) == ["fresh(answer 2, new)"])
    #expect(await fixture.outline(url, policy: .http) == ["stored(answer 2)"])
    #expect(try fixture.store.value("SELECT count(*) FROM last_request") == .integer(1))
    await fixture.service.close()
  }
}
