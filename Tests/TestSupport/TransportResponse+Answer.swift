package import CacheStore
package import DataService
internal import PlatformFoundation

extension TransportResponse {
  /// A whole response.
  package static func answer(_ body: String, status: Int = 200, _ fields: HTTPFields = [:])
    -> TransportResponse
  {
    TransportResponse(
      version: "1.1", status: status, reason: status == 200 ? "OK" : "", fields: fields,
      body: DataService.BodyStream(whole: Data(body.utf8)))
  }
}
