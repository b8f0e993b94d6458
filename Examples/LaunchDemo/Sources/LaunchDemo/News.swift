import DataService
import Launch

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The news of an origin: what is asked, and what comes back.
struct News: Sendable {
  struct Feed: Codable, Sendable, Equatable { var items: [String] }
  struct Settings: Codable, Sendable { var minimum: Int }
  private struct Token: Codable { var token: String }

  /// This program's version, against which the origin's minimum is held.
  static let version = 1

  let origin: URL

  var feed: DataService.Request { request("feed") }

  private func request(_ path: String) -> DataService.Request {
    var request = DataService.Request(origin.appending(path: path))
    request.limits.retries = 0
    return request
  }

  /// What the first screen needs: the settings and the feed, three seconds at most, and what is stored is enough.
  func plan() -> PreloadPlan {
    var plan = PreloadPlan([
      PreloadStep("settings", request("settings"), as: Settings.self),
      PreloadStep("feed", feed, as: Feed.self, weight: 3),
    ])
    plan.deadline = .seconds(3)
    plan.readiness = .storedIsEnough
    plan.onFailure = .ask
    return plan
  }

  /// Why this program is too old for the origin, or `nil`.
  static func tooOld(_ outcome: PreloadOutcome) -> String? {
    guard let settings = outcome.value("settings", as: Settings.self), settings.minimum > version else {
      return nil
    }
    return "Version \(settings.minimum) is required; this is version \(version)."
  }

  /// Signs a name in at the origin; the demo's origin takes every name.
  func credential(for name: String, using service: DataService) async throws -> Credential {
    var request = request("login")
    request.method = .post
    request.body = Data(name.utf8)
    // A POST is not tried again: its one connection may take as long as the three of a GET.
    request.limits.connectTimeout = .seconds(15)
    let response = try await service.response(for: request, policy: .freshOnly)
    let token = try JSONDecoder().decode(Token.self, from: response.value)
    return Credential(account: name, token: token.token)
  }
}
