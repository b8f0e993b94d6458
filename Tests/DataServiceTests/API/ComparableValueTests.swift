import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// What an application compares, hashes and goes through.
@Suite("Values that can be compared", .inTurn) struct ComparableValueTests {
  private let url = "http://origin.test/item"

  @Test func `requests are told apart by all that is asked`() throws {
    let url = try #require(URL(string: url))
    let request = DataService.Request(url)
    let changes: [@Sendable (inout DataService.Request) -> Void] = [
      { $0.url = $0.url.appending(path: "other") }, { $0.method = .post },
      { $0.fields["Accept"] = "text/plain" }, { $0.body = Data("a".utf8) },
      { $0.account = .named("alice") }, { $0.key = "k" }, { $0.isRead = true }, { $0.keepsAnyway = true },
      { $0.tags = ["t"] }, { $0.isPinned = true }, { $0.limits.redirects = 3 },
      { $0.connection.isInsecure = true }, { $0.changeRule = .notModified },
      { $0.acceptedMediaTypes = ["text/plain"] }, { $0.acceptedStatuses = 200...200 },
      { $0.onlineWait = .seconds(1) },
    ]
    var all: Set<DataService.Request> = [request]
    for (number, change) in changes.enumerated() {
      var other = request
      change(&other)
      #expect(other != request, "change \(number)")
      all.insert(other)
    }
    #expect(all.count == changes.count + 1)
    #expect(all.contains(DataService.Request(url)))
  }

  @Test func `deliveries of values that can be compared can be`() async throws {
    let fixture = try ServiceFixture.scripted { _, number throws(DataServiceError) in
      if number > 1 { throw DataServiceError(.refused, "refused", underlying: CancellationError()) }
      return .answer("body")
    }
    let url = try #require(URL(string: url))
    let all = await fixture.deliveries(url) + fixture.deliveries(url)
    try #require(all.count == 3)
    for first in all.indices {
      for second in all.indices {
        #expect((all[first] == all[second]) == (first == second), "\(first) and \(second)")
      }
    }
    // The same value, but fresh and stored.
    #expect(all[0].response != all[1].response)
    let response = try #require(all[0].response)
    #expect(response == response.map { $0 })
    #expect(response != response.map { $0 + $0 })
    #expect(
      DataServiceError(.refused, "a") == DataServiceError(.refused, "a", underlying: CancellationError()))
    #expect(DataServiceError(.refused, "a") != DataServiceError(.refused, "b"))
    #expect(DataServiceError(.refused, "a") != DataServiceError(.dns, "a"))
    #expect(DataServiceError(.refused, "a") != DataServiceError(.refused, "a", hint: "h"))
    #expect(DataServiceError(.status, "a", status: 500) != DataServiceError(.status, "a", status: 501))
    await fixture.service.close()
  }

  @Test func `fields are a collection, in the order in which they came`() {
    let fields: HTTPFields = ["Accept": "a", "Set-Cookie": "b=1", "X-Empty": "", "set-cookie": "c=2: d"]
    #expect(fields.count == 4)
    #expect(Array(fields) == fields.all)
    #expect(fields.map(\.name) == ["Accept", "Set-Cookie", "X-Empty", "set-cookie"])
    #expect(fields.map(\.value) == ["a", "b=1", "", "c=2: d"])
    #expect(fields.first?.name == "Accept")
    #expect(fields.firstIndex { $0.value.isEmpty }.map { fields[$0].name } == "X-Empty")
    #expect(fields.filter { $0.name.count == 10 }.map(\.value) == ["b=1", "c=2: d"])
    #expect(fields.dropFirst(3).map(\.value) == ["c=2: d"])
    #expect(HTTPFields().isEmpty && HTTPFields().count == 0 && HTTPFields().first == nil)
  }

  @Test func `lines that are no fields are passed over`() {
    let fields = HTTPFields(wire: Array("junk\r\nA: 1\r\n\r\nmore\nB: 2\r\nrest".utf8))
    #expect(fields.map(\.value) == ["1", "2"])
    #expect(Array(fields) == fields.all)
    #expect(Array(HTTPFields(wire: Array("A: 1".utf8))).map(\.value) == ["1"])
    #expect(HTTPFields(wire: Array("junk".utf8)).startIndex == HTTPFields(wire: Array("junk".utf8)).endIndex)
  }
}
