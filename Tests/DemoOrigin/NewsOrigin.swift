import FixtureServer
import Synchronization

/// An origin with a page `/news` that has a validator and changes on `publish`. For the launch demo it also has
/// `/settings`, `/login`, which accepts every name, and `/feed`, which requires the token from the login.
final class NewsOrigin: Sendable {
  private static let headlines = [
    "Night train reaches the coast on time", "Lighthouse lamp back after repair",
    "Harbour frozen, ferries wait", "Ice gone, ferries sail again",
  ]

  let server: FixtureServer
  private let edition: Counter

  private final class Counter: Sendable {
    private let value = Mutex(0)
    var current: Int { value.withLock { $0 } }
    func advance() { value.withLock { $0 += 1 } }
  }

  init() throws {
    let edition = Counter()
    self.edition = edition
    server = try FixtureServer(routes: [
      "/news": { request in
        let number = edition.current
        let headline = Self.headlines[number % Self.headlines.count]
        return .validated(
          #"{"edition": \#(number + 1), "headline": "\#(headline)"}"# + "\n", etag: "\"\(number + 1)\"",
          for: request, ["Content-Type": "application/json", "Cache-Control": "no-cache"])
      },
      "/settings": { .validated(#"{"minimum": 1}"#, etag: "\"1\"", for: $0) },
      "/login": { request in
        .ok(#"{"token": "token-\#(request.body.map { String($0, radix: 16) }.joined())"}"#)
      },
      "/feed": { request in
        guard request["Authorization"]?.hasPrefix("Bearer token-") == true else { return .status(401) }
        let number = edition.current
        let items = (0...number).reversed().prefix(4).map {
          "\"\(Self.headlines[$0 % Self.headlines.count])\""
        }
        return .validated(
          #"{"items": [\#(items.joined(separator: ", "))]}"#, etag: "\"feed-\(number)\"", for: request)
      },
    ])
  }

  /// Publishes the next edition.
  func publish() { edition.advance() }
}
