internal import CacheStore
internal import DataService

/// A parsed `watch`.
struct WatchPlan {
  let requests: [DataService.Request]
  let lines: [DeliveryLine]
  let form: DeliveryPrinter.Form
  /// `--every`; `nil` follows the responses' freshness lifetimes.
  let every: Duration?
  let endsAtChange: Bool

  /// The largest body that is compared here; for larger ones the service's comparison counts.
  static let largestBody = 16 << 20
  /// The pause without `--every`.
  private static let usualPause = Duration.seconds(30)
  /// The longest pause, even for a response with a longer freshness lifetime.
  static let longestPause = Duration.seconds(3_600)

  init(_ arguments: Arguments) throws(UsageError) {
    try RequestArguments.checkKey(arguments, urls: arguments.operands.count)
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

  /// The first line on a terminal, where nothing else appears until something changes.
  var announcement: String {
    let what = lines.count == 1 ? lines[0].url : "\(lines.count) URLs"
    let pause = every.map { "every \(Words.elapsed($0))" } ?? "every 30 s, or as long as it stays fresh"
    return "watching \(what) \(pause); changes are shown, Ctrl-C ends it"
  }

  /// The kind of outage a failure belongs to: a paused origin (`Retry-After`) is still in the outage its status began.
  static func outage(_ kind: DataServiceError.Kind) -> DataServiceError.Kind {
    kind == .paused ? .status : kind
  }

  /// How long to wait after a response: the time of `--every`, otherwise 30 seconds or the response's freshness
  /// lifetime. A random tenth more or less keeps many watchers from asking in step.
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
