import FixtureServer
import Synchronization

/// An origin with a page, `/news`, that changes when told to and knows its validator; and with what the launch demo
/// needs: `/settings`, `/login`, which takes every name, and `/feed`, which wants the token that the login gave.
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

  /// Brings out the next edition.
  func publish() { edition.advance() }
}
