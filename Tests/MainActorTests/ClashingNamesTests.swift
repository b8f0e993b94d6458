import ClashingNames
import DataService
import DataServiceTesting
import PlatformFoundation
import TestTurns
import Testing

/// Where another module has types of the same names, the service's are named with its own: `HTTPFields` alone is ambiguous
/// in this file, and so is each of the others.
@Suite("Names that clash", .inTurn) struct ClashingNamesTests {
  private struct Stuck: DataService.Transport {
    func response(
      to request: TransportRequest
    ) async throws(DataService.DataServiceError) -> TransportResponse {
      throw DataService.DataServiceError(.offline, "there is no network")
    }
  }

  @Test func `each has a name through the service`() async throws {
    let fields: DataService.HTTPFields = ["Accept": "text/plain"]
    let method: DataService.RequestMethod = .get
    let policy: DataService.FetchPolicy = .freshOnly
    var limits: DataService.Limits = .init()
    limits.retries = 0
    let account: DataService.Account = .named("ada")
    let url = URL(string: "http://example.test/feed")!
    var request = DataService.Request(url, method: method, fields: fields)
    (request.limits, request.account) = (limits, account)
    let test = try TestService(transport: Stuck())
    do throws(DataService.DataServiceError) {
      _ = try await test.service.response(for: request, policy: policy)
    } catch {
      #expect(error.isOffline)
    }
    #expect(ClashingNames.HTTPFields() == ClashingNames.HTTPFields())
    await test.close()
  }
}
