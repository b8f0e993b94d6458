import FixtureServer
import Synchronization

/// An origin with one page, `/news`, that changes when told to and knows its validator.
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
      }
    ])
  }

  /// Brings out the next edition.
  func publish() { edition.advance() }
}
