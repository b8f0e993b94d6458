import DataService
import Observation

/// The list of headlines of one account. Another account, or the same one after a sign-out, gets a list of its own.
@MainActor @Observable public final class ListModel {
  /// Whose headlines they are.
  public let account: String
  /// What is shown.
  public private(set) var headlines: [Headline] = []
  /// Whether what is shown comes out of the store, and nothing newer has been had yet.
  public private(set) var isStored = false
  /// Whether a load is under way.
  public private(set) var isLoading = false
  /// Why nothing newer could be had: shown beside the list, never in its place.
  public private(set) var error: String?
  /// The story that is open over the list.
  public private(set) var story: StoryModel?

  private let source: NewsSource
  /// The load whose deliveries count: of two at a time only the later one.
  @ObservationIgnored private var load = 0
  @ObservationIgnored private var isLeft = false
  /// The story that a finger is on, begun before it is known to be wanted.
  @ObservationIgnored private var touched: (id: Headline.ID, early: DataService.Anticipation<Story>)?

  /// A list that shows nothing before ``appear()``.
  public init(account: String, source: NewsSource) {
    self.account = account
    self.source = source
  }

  /// When the list appears: what is stored at once, then the fresh one.
  public func appear() async { await follow(source.headlines(.storedThenFresh)) }

  /// Pull to refresh. What is stored is on the screen already.
  public func refresh() async { await follow(source.headlines(.freshOnly)) }

  private func follow(_ deliveries: DataService.Deliveries<[Headline]>) async {
    guard !isLeft else { return }
    load += 1
    let own = load
    isLoading = true
    defer { if own == load { isLoading = false } }
    for await delivery in deliveries {
      // To leave the loop is to cancel the load.
      guard own == load, !isLeft else { return }
      switch delivery {
      case .stored(let response):
        (headlines, isStored, error) = (response.value, true, nil)
      case .fresh(let response, _):
        (headlines, isStored, error) = (response.value, false, nil)
      case .failure(let failure, _):
        if !failure.isCancelled { error = failure.message }
      }
    }
  }

  /// Nothing of the account is shown from now on, whatever still comes.
  func leave() {
    isLeft = true
    load += 1
    touchCancelled()
    close()
    (headlines, isStored, isLoading, error) = ([], false, false, nil)
  }
}

extension ListModel {
  /// A finger has come down on a headline: what it most likely leads to is fetched, some 100 ms before that is known.
  public func touchDown(_ headline: Headline) {
    if let touched, touched.id == headline.id, touched.early.isHeld { return }
    guard !isLeft else { return }
    touched = source.anticipate(headline.id).map { (headline.id, $0) }
  }

  /// It was no tap, but the beginning of a scroll.
  public func touchCancelled() {
    touched?.early.cancel()
    touched = nil
  }

  /// It was a tap: the story that it opens has its title already, and mostly its text.
  public func open(_ headline: Headline) {
    guard !isLeft else { return }
    let early = touched?.id == headline.id ? touched?.early.commit() : nil
    touched = nil
    story = StoryModel(headline, early: early) { [source] in source.story(headline.id) }
  }

  /// Back to the list.
  public func close() { story = nil }
}
