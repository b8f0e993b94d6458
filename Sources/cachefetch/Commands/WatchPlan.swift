internal import CacheStore
internal import DataService

/// A `watch` as understood.
struct WatchPlan {
  let requests: [DataService.Request]
  let lines: [DeliveryLine]
  let form: DeliveryPrinter.Form
  /// `--every`; `nil` follows the answers' own lifetimes.
  let every: Duration?
  let endsAtChange: Bool

  /// The largest body that is compared here; for larger ones the service's word is taken.
  static let largestBody = 16 << 20
  /// Without `--every`.
  static let usualPause = Duration.seconds(30)
  /// An answer that says it stays fresh longer is looked at again all the same.
  static let longestPause = Duration.seconds(3_600)

  init(_ arguments: Arguments) throws(UsageError) {
    requests = try RequestArguments(arguments).requests()
    lines = zip(arguments.operands, requests).map { DeliveryLine(url: $0, request: $1) }
    form = try DeliveryPrinter.Form(arguments)
    every = arguments.duration(.every)
    endsAtChange = arguments.has(.untilChanged)
    for request in requests where !request.method.isSafe && !request.isRead {
      throw UsageError(
        "watch would send \(request.method.rawValue) again and again",
        "write --read if this request only reads")
    }
    if let every, every < .milliseconds(10) {
      throw UsageError(
        "--every \(every.milliseconds)ms is no pause", "write at least 10ms; most servers prefer 30s or more")
    }
  }

  /// What a person at a terminal is told, who would else see nothing until something changes.
  var announcement: String {
    let what = lines.count == 1 ? lines[0].url : "\(lines.count) URLs"
    let pause = every.map { "every \(Words.elapsed($0))" } ?? "every 30 s, or as long as it stays fresh"
    return "watching \(what) \(pause); changes are shown, Ctrl-C ends it"
  }

  /// The outage that a failure belongs to: an origin that asks to be left alone for a while, and is, has one.
  static func outage(_ kind: DataServiceError.Kind) -> DataServiceError.Kind {
    kind == .paused ? .status : kind
  }

  /// How long to wait after an answer: what `--every` says, else 30 seconds or as long as the answer says it stays
  /// fresh; a tenth more or less, so that many watchers do not ask in step.
  func pause(
    after head: DataService.ResponseHead?, random: (ClosedRange<Int64>) -> Int64 = { .random(in: $0) }
  ) -> Duration {
    let pause = every ?? Self.ownPause(head)
    let tenth = pause.milliseconds / 10
    return .milliseconds(pause.milliseconds + random(-tenth...tenth))
  }

  private static func ownPause(_ head: DataService.ResponseHead?) -> Duration {
    guard let head, let seconds = CacheControl(fields: head.fields).maxAge.value else { return usualPause }
    let left = Duration.seconds(min(seconds, 31_536_000)) - head.age
    return min(max(left, usualPause), longestPause)
  }
}
