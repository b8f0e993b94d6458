internal import DataService
internal import PlatformFoundation

/// `explain`: what the store and the caching rules would do with a request, and why. Reads the store, never the
/// network.
enum ExplainCommand {
  static func run(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) -> ExitStatus {
    let request = try RequestArguments(arguments).request(for: arguments.operand)
    let policy = PolicyChoice.chosen(arguments)
    let commands = StoreCommands(arguments, diagnostics)
    if let missing = commands.missing() { return missing }
    let service = commands.service
    let result = Await.result { () async throws(DataServiceError) in
      try await commands.checkCopy()
      return try await service.explain(request, policy: policy.fetchPolicy)
    }
    switch result {
    case nil: return Signals.exitStatus
    case .failure(let error):
      diagnostics.say("\(Shown.url(arguments.operand)): \(Diagnostics.joined(error.message, error.advice))")
      return error.kind == .invalidRequest ? .usage : .inputOutput
    case .success(var explanation):
      let shown = explanation.verdicts.first { $0.policy == policy.name }?.shown ?? ""
      let only =
        [OptionName.policy, .offline, .maxAge, .deadline].contains(where: arguments.has) ? policy.name : nil
      if let only { explanation.verdicts.removeAll { $0.policy != only } }
      for index in explanation.verdicts.indices {
        explanation.verdicts[index].policy = PolicyChoice.spelling(of: explanation.verdicts[index].policy)
      }
      return write(explanation, shown, isJSON: arguments.has(.json), diagnostics)
    }
  }

  private static func write(
    _ explanation: DataService.Explanation, _ shown: String, isJSON: Bool, _ diagnostics: Diagnostics
  ) -> ExitStatus {
    guard isJSON else {
      let whole = "cachefetch would print \(shown).\n\n\(explanation.text)"
      let text = diagnostics.terminal.isOutput ? TerminalText.lines(whole) : whole
      return Output.write(text + "\n", diagnostics)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(explanation) else { return .inputOutput }
    return Output.write(JSONWriter.harmless(String(decoding: data, as: UTF8.self)) + [0x0A], diagnostics)
  }
}

extension PolicyChoice {
  /// The library's name of the policy.
  fileprivate var name: String {
    switch self {
    case .storedThenFresh: "stored-then-fresh"
    case .storedOnly: "stored-only"
    case .freshOnly: "fresh-only"
    case .freshElseStored: "fresh-else-stored"
    case .storedElseFresh: "stored-else-fresh"
    case .http: "http"
    }
  }
}

extension TerminalText {
  /// Each line made safe for a terminal.
  fileprivate static func lines(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { visible(String($0)) }.joined(
      separator: "\n")
  }
}
