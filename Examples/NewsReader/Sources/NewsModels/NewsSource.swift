import DataService
import Launch

/// Where the models of one account get their news from: the service in that account's name, or what a preview makes up.
public struct NewsSource: Sendable {
  /// The headlines, as the policy wants them.
  public var headlines: @Sendable (FetchPolicy) -> DataService.Deliveries<[Headline]>
  /// A story, the stored one first.
  public var story: @Sendable (Headline.ID) -> DataService.Deliveries<Story>
  /// Begins to load a story that a finger is on; `nil` where nothing is begun early.
  public var anticipate: @Sendable (Headline.ID) -> DataService.Anticipation<Story>?

  /// A source that is made up.
  public init(
    headlines: @escaping @Sendable (FetchPolicy) -> DataService.Deliveries<[Headline]>,
    story: @escaping @Sendable (Headline.ID) -> DataService.Deliveries<Story>,
    anticipate: @escaping @Sendable (Headline.ID) -> DataService.Anticipation<Story>? = { _ in nil }
  ) {
    self.headlines = headlines
    self.story = story
    self.anticipate = anticipate
  }

  /// The origin's news, for the account that is signed in.
  init(_ api: NewsAPI, session: Session) {
    self.init(
      headlines: { session.deliveries(for: api.headlines, as: [Headline].self, policy: $0) },
      story: { session.deliveries(for: api.story($0), as: Story.self) },
      anticipate: { session.anticipate(api.story($0), as: Story.self, group: "headlines") })
  }
}
