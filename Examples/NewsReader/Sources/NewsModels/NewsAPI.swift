import DataService
import Launch

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A line of the list.
public struct Headline: Codable, Sendable, Hashable, Identifiable {
  /// What the story is asked for by.
  public var id: Int
  /// One line.
  public var title: String

  /// Makes a headline.
  public init(id: Int, title: String) {
    self.id = id
    self.title = title
  }
}

/// What a headline leads to.
public struct Story: Codable, Sendable, Equatable {
  /// That of the headline.
  public var title: String
  /// All of it.
  public var text: String

  /// Makes a story.
  public init(title: String, text: String) {
    self.title = title
    self.text = text
  }
}

/// The origin of the news: what is asked of it, and what it answers.
public struct NewsAPI: Sendable {
  /// What it answers when somebody signs in.
  public struct Token: Codable, Sendable {
    /// What is sent with every request from then on.
    public var token: String
    /// Makes an answer.
    public init(token: String) { self.token = token }
  }

  private let origin: URL

  /// The news of that origin.
  public init(origin: URL) { self.origin = origin }

  /// The list of headlines, each account's own.
  public var headlines: DataService.Request { DataService.Request(origin.appending(path: "headlines")) }

  /// One story.
  public func story(_ id: Headline.ID) -> DataService.Request {
    DataService.Request(origin.appending(path: "stories").appending(path: String(id)))
  }

  /// Signs a name in: a POST, which is sent once and whose answer is not stored.
  public func credential(
    for name: String, from service: DataService
  ) async throws(DataServiceError) -> Credential {
    var request = DataService.Request(
      origin.appending(path: "sign-in"), method: .post, body: Data(name.utf8))
    // A POST is not tried again: its one connection may take as long as the three of a GET.
    request.limits.connectTimeout = .seconds(15)
    let answer = try await service.response(for: request, as: Token.self, policy: .freshOnly)
    return Credential(account: name, token: answer.value.token)
  }
}
