import DataService
import DataServiceTesting
import Launch
import NewsModels
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Credentials in memory, which outlive a launch as those in a keychain do.
actor MemoryCredentials: CredentialStore {
  private var kept: Credential?
  func credential() -> Credential? { kept }
  func save(_ credential: Credential) { kept = credential }
  func remove() { kept = nil }
}

/// The program under test: its models, on a service whose network and clock are the test's.
@MainActor struct Reader {
  static let origin = "https://news.example.com"

  let test: TestService
  let credentials = MemoryCredentials()
  let model: ReaderModel

  init() throws {
    test = try TestService()
    model = try Self.launched(on: test, credentials)
  }

  /// The program as it is after a launch, on what the last one has left.
  func relaunched() throws -> ReaderModel { try Self.launched(on: test, credentials) }

  private static func launched(on test: TestService, _ credentials: MemoryCredentials) throws -> ReaderModel {
    let origin = try #require(URL(string: Self.origin))
    let session = Session(service: test.service, credentials: credentials)
    return ReaderModel(api: NewsAPI(origin: origin), service: test.service, session: session)
  }

  // MARK: - What the origin says

  func answer(_ path: String, with answer: ScriptedOrigin.Answer) {
    test.origin.answer("\(Self.origin)/\(path)", with: answer)
  }

  func publish(_ titles: String...) throws {
    let headlines = titles.enumerated().map { Headline(id: $0.offset + 1, title: $0.element) }
    answer("headlines", with: try .json(headlines))
  }

  /// The requests for a path so far.
  func requests(for path: String) -> [TransportRequest] {
    test.origin.requests.filter { $0.url.absoluteString == "\(Self.origin)/\(path)" }
  }

  // MARK: - What a person does

  /// Starts the program and signs in, where nobody is.
  func signIn(_ name: String) async throws {
    answer("sign-in", with: try .json(NewsAPI.Token(token: "\(name)-token")))
    await model.start()
    await model.signIn(name)
  }

  /// Lets the pauses between the tries of a request pass at once.
  func patiently(_ work: @escaping @Sendable @MainActor () async -> Void) async throws {
    _ = try await test.clock.passing(longest: .seconds(60)) { await work() }
  }
}

extension ReaderModel {
  /// The list that is shown; `nil` where another screen is.
  var list: ListModel? { if case .list(let list) = screen { list } else { nil } }
  var isLogin: Bool { if case .login = screen { true } else { false } }
}

extension ListModel {
  var titles: [String] { headlines.map(\.title) }
}

/// Returns as soon as the models say so; what they wait for is under way.
@MainActor func until(_ condition: () -> Bool) async { while !condition() { await Task.yield() } }
