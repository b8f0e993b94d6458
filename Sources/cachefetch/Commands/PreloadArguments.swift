internal import CacheStore
internal import DataService
internal import FoundationEssentials
internal import Launch

/// What a `preload` is asked to do.
struct PreloadArguments {
  let plan: PreloadPlan
  /// How many loads may be under way at once, where that was said.
  let parallel: Int?

  /// The URL of each step, by its name.
  var urls: [String: String] {
    Dictionary(uniqueKeysWithValues: plan.steps.map { ($0.name, $0.request.url.absoluteString) })
  }

  /// Reads the operands: a plan in a file, URLs, or a list of them on standard input.
  init(_ arguments: Arguments) throws(UsageError) {
    parallel = arguments.count(.parallel)
    guard let first = arguments.operands.first, arguments.operands.count == 1 else {
      plan = try Self.finished(PreloadPlan(Self.steps(arguments)), arguments)
      return
    }
    if first == "-" {
      let template = try Self.template(arguments)
      let text = String(decoding: try InputFile.read("-", for: "the list"), as: UTF8.self)
      plan = try Self.finished(
        try Self.read("standard input") { () throws(PlanError) in
          try PreloadPlan(list: text) { url in
            var request = template
            request.url = url
            return request
          }
        }, arguments)
    } else if first.hasSuffix(".json"), !first.contains("://") {
      let template = try Self.template(arguments)
      let bytes = try InputFile.read(first, for: "the plan")
      plan = try Self.finished(
        try Self.read(first) { () throws(PlanError) in
          try PreloadPlan(json: Data(bytes), inMemory: false) { Self.complete(&$0, from: template) }
        }, arguments)
    } else {
      plan = try Self.finished(PreloadPlan(Self.steps(arguments)), arguments)
    }
  }

  /// The options' request; the URL is put in later.
  private static func template(_ arguments: Arguments) throws(UsageError) -> DataService.Request {
    try RequestArguments(arguments).request(for: "http://localhost/")
  }

  private static func steps(_ arguments: Arguments) throws(UsageError) -> [PreloadStep] {
    let requests = try RequestArguments(arguments).requests()
    var seen: Set<String> = []
    return zip(arguments.operands, requests).compactMap { name, request in
      seen.insert(name).inserted ? .storing(name, request) : nil
    }
  }

  /// What a plan's request leaves open is as the options say.
  private static func complete(_ request: inout DataService.Request, from template: DataService.Request) {
    var complete = template
    complete.url = request.url
    complete.fields.append(contentsOf: request.fields)
    if request.account != .automatic { complete.account = request.account }
    complete.tags += request.tags
    request = complete
  }

  private static func read(
    _ source: String, _ make: () throws(PlanError) -> PreloadPlan
  ) throws(UsageError) -> PreloadPlan {
    do throws(PlanError) {
      return try make()
    } catch {
      throw UsageError(
        "\(source), \(error.description)",
        "a list has one whole URL a line; a plan is as in docs/launch.md", status: .badData)
    }
  }

  /// The plan as the options want it. Everything is waited for: what the readiness rule of a plan would leave behind
  /// is what this verb is for.
  private static func finished(_ plan: PreloadPlan, _ arguments: Arguments) throws(UsageError) -> PreloadPlan
  {
    var plan = plan
    plan.readiness = .allFresh
    plan.finishesIntoStore = false
    if let deadline = arguments.duration(.deadline) { plan.deadline = deadline }
    if let age = arguments.duration(.maxAge) { plan.maxAge = age }
    if let count = arguments.count(.parallel) { plan.parallelism = count }
    plan.onFailure = try failureRule(arguments.text(.onFailure))
    return plan
  }

  /// What `--on-failure` says.
  static func failureRule(_ text: String?) throws(UsageError) -> PreloadPlan.FailureRule {
    switch text {
    case nil, "stored"?: return .useStored
    case "ask"?: return .ask
    case "fail"?: return .fail
    case let text?:
      guard text.hasPrefix("retry:"), let times = Int(text.dropFirst(6)), (1...100).contains(times) else {
        throw UsageError(
          "--on-failure knows no “\(TerminalText.visible(text))”", "write ask, retry:N, stored or fail")
      }
      return .retry(times)
    }
  }
}
