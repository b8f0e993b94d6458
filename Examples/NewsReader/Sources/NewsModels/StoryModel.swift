import DataService
import Observation

/// One story. Its title is known from the list.
@MainActor @Observable public final class StoryModel {
  /// Where it was opened from.
  public let headline: Headline
  /// The story, as soon as it is there.
  public private(set) var story: Story?
  /// Why nothing newer could be had.
  public private(set) var error: String?

  /// What was begun at touch-down.
  @ObservationIgnored private var early: DataService.Deliveries<Story>?
  private let load: @MainActor () -> DataService.Deliveries<Story>

  /// A story that shows nothing before ``appear()``.
  ///
  /// - Parameters:
  ///   - headline: Where it was opened from.
  ///   - early: A load that was begun before it was wanted.
  ///   - load: Makes a load.
  public init(
    _ headline: Headline, early: DataService.Deliveries<Story>? = nil,
    load: @escaping @MainActor () -> DataService.Deliveries<Story>
  ) {
    self.headline = headline
    self.early = early
    self.load = load
  }

  /// When the story appears, the first time or once more.
  public func appear() async {
    if let early {
      self.early = nil
      // What was begun early has the token of then, and nobody who would renew it.
      guard await follow(early) == 401 else { return }
    }
    await follow(load())
  }

  /// - Returns: The status that the origin refused the request with.
  @discardableResult private func follow(_ deliveries: DataService.Deliveries<Story>) async -> Int? {
    var refusal: Int?
    for await delivery in deliveries {
      switch delivery {
      case .stored(let response), .fresh(let response, _):
        (story, error) = (response.value, nil)
      case .failure(let failure, _):
        refusal = failure.status
        if !failure.isCancelled { error = failure.message }
      }
    }
    return refusal
  }
}
