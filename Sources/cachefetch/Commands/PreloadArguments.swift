internal import CacheStore
internal import DataService
internal import Launch
internal import PlatformFoundation

/// A parsed `preload`.
struct PreloadArguments {
  let plan: PreloadPlan

  /// Reads the operands: URLs, or one file with a plan or a list of URLs; `-` is standard input.
  init(_ arguments: Arguments) throws(UsageError) {
    let plan =
      if let file = try Self.file(arguments.operands) { try Self.plan(in: file, arguments) } else {
        PreloadPlan(try Self.steps(arguments))
      }
    try RequestArguments.checkKey(arguments, urls: plan.steps.count)
    for step in plan.steps where !step.request.method.isSafe && !step.request.isRead {
      throw UsageError(
        "preload would send \(step.request.method.rawValue), whose answer is not stored",
        "send it with cachefetch get, or write --read if it only reads")
    }
    self.plan = try Self.finished(plan, arguments)
  }

  /// The operand that names a file; `nil` if all are URLs.
  private static func file(_ operands: [String]) throws(UsageError) -> String? {
    for operand in operands where !operand.contains("://") {
      guard operand == "-" || InputFile.isThere(operand) else {
        let shown = TerminalText.visible(Shown.url(operand))
        throw UsageError(
          "“\(shown)”: no such file",
          "name a plan or a list that is there, or write a whole URL: "
            + (operand.isEmpty || operand.hasPrefix("/") || operand.hasPrefix(".")
              ? "https://HOST/PATH" : URLArgument.proposal(for: operand)))
      }
      guard operands.count == 1 else {
        throw UsageError(
          "“\(TerminalText.visible(operand))” is a file, and a file stands alone",
          "run preload once for each file, or put all URLs in one")
      }
      return operand
    }
    return nil
  }

  /// A plan is JSON and begins with a brace; anything else is a list of URLs. (A file that begins with a bracket is
  /// read as a plan, for its error message.)
  private static func plan(in file: String, _ arguments: Arguments) throws(UsageError) -> PreloadPlan {
    let requests = try RequestArguments(arguments)
    let bytes = try InputFile.read(file, for: "the plan or list")
    let name = file == "-" ? "standard input" : TerminalText.visible(file)
    let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
    let isPlan = first == 0x7B || first == 0x5B || file.hasSuffix(".json")
    // URLs follow the same rules as on the command line, and mistakes have the same remedies.
    var remedy: String?
    // A request is made of the URL that was read last.
    var spelling = ""
    func readURL(_ text: String) throws(PlanError) -> URL {
      spelling = text
      do throws(UsageError) {
        return try URLArgument.parse(text)
      } catch {
        remedy = error.remedy
        throw PlanError(error.message)
      }
    }
    do throws(PlanError) {
      guard isPlan else {
        return try PreloadPlan(
          list: String(decoding: bytes, as: UTF8.self),
          makeRequest: { requests.request(for: $0, speltAs: spelling) },
          readURL: readURL)
      }
      return try PreloadPlan(
        json: Data(bytes), inMemory: false,
        adjust: { complete(&$0, from: requests.request(for: $0.url, speltAs: spelling)) },
        readURL: readURL)
    } catch {
      let form =
        isPlan
        ? #"a plan is {"steps": [{"url": "https://…"}, …]}: see cachefetch help preload"#
        : "a list has one whole URL a line"
      throw UsageError("\(name), \(error.description)", remedy ?? form, status: .badData)
    }
  }

  private static func steps(_ arguments: Arguments) throws(UsageError) -> [PreloadStep] {
    let requests = try RequestArguments(arguments).requests()
    var seen: Set<String> = []
    return zip(arguments.operands, requests).compactMap { name, request in
      seen.insert(name).inserted ? .storing(name, request) : nil
    }
  }

  /// Completes a plan's request from the options.
  private static func complete(_ request: inout DataService.Request, from template: DataService.Request) {
    var complete = template
    if request.fields.contains("Authorization") { complete.fields["Authorization"] = nil }
    complete.fields.append(contentsOf: request.fields)
    if request.account != .automatic { complete.account = request.account }
    complete.tags += request.tags
    request = complete
  }

  /// Applies the options to the plan. This verb waits for every step, even those the plan's readiness rule would not
  /// wait for, since it exists to fill the store.
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

  /// Parses `--on-failure`.
  static func failureRule(_ text: String?) throws(UsageError) -> PreloadPlan.FailureRule {
    switch text {
    case nil, "stored"?: return .useStored
    case "ask"?: return .ask
    case "fail"?: return .fail
    case let text?:
      guard text.hasPrefix("retry:"), let times = Int(text.dropFirst(6)), (1...100).contains(times) else {
        throw UsageError(
          "invalid value “\(TerminalText.visible(text))” for --on-failure",
          "write ask, retry:N, stored or fail")
      }
      return .retry(times)
    }
  }
}
