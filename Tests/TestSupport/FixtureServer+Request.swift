package import CacheStore
package import DataService
package import FixtureServer
package import PlatformFoundation

extension FixtureServer {
  /// A transport's request for a path of this origin, with all the time that it needs: how busy the machine is must not
  /// decide what a test sees.
  package func request(
    _ path: String, method: RequestMethod = .get, fields: HTTPFields = [:], body: Data? = nil,
    connection: ConnectionOptions = ConnectionOptions()
  ) -> TransportRequest {
    TransportRequest(
      url: url(path), method: method, fields: fields, body: body, connection: connection, limits: .unhurried)
  }
}
