internal import CacheStore
internal import DataService
internal import FoundationEssentials

/// Carries out `diff`: the stored answer against the fresh one. 0 the same, 1 different, above 1 trouble.
struct DiffRun {
  private struct Side {
    var head: DataService.ResponseHead
    var body: Data
  }

  let request: DataService.Request
  let line: DeliveryLine
  let fetcher: Fetcher
  let diagnostics: Diagnostics
  /// Bodies are compared in memory.
  private static let largestBody = 64 << 20

  init(_ arguments: Arguments, fetcher: Fetcher, diagnostics: Diagnostics) throws(UsageError) {
    request = try RequestArguments(arguments).request(for: arguments.operand)
    line = DeliveryLine(url: arguments.operand, request: request)
    self.fetcher = fetcher
    self.diagnostics = diagnostics
  }

  /// Runs to the end and returns the exit status.
  func run() -> ExitStatus {
    let feed = LoadFeed(fetcher, diagnostics: diagnostics)
    var status = ExitStatus.nothing
    let stopped = feed.run(patience: .seconds(10)) { () throws(OutputError) in
      do throws(BodyError) {
        status = try follow(feed)
      } catch {
        if case .output(let error) = error { throw error }
        if case .body(let error) = error { say(error) }
      }
    }
    return stopped ?? status
  }

  private func follow(_ feed: LoadFeed) throws(BodyError) -> ExitStatus {
    var stored: Side?
    var status = ExitStatus.nothing
    feed.start(0, request, .storedThenFresh)
    while true {
      switch feed.wait() {
      case nil: throw .output(.interrupted)
      case .delivery(_, .stored(let response)): stored = try collected(response)
      case .delivery(_, .fresh(let response, let change)): status = try compare(stored, response, change)
      case .delivery(_, .failure(let error, _)):
        say(error)
        status = stored == nil ? .nothing : .storedOnly
      case .ended: return status
      }
    }
  }

  private func say(_ error: DataServiceError) {
    diagnostics.say(error, of: line)
  }

  private func collected(_ response: DataService.Response<DataService.BodyStream>) throws(BodyError) -> Side {
    let (bytes, _) = try BodyPieces(stream: response.value).collected(limit: Self.largestBody)
    guard let bytes else {
      throw .body(
        DataServiceError(.tooLarge, "the body is larger than 64 MiB", hint: "compare files: use get -o"))
    }
    return Side(head: response.head, body: Data(bytes))
  }

  private func compare(
    _ stored: Side?, _ response: DataService.Response<DataService.BodyStream>, _ change: DataService.Change
  ) throws(BodyError) -> ExitStatus {
    guard let stored else {
      diagnostics.say(
        "\(line.url): nothing was stored to compare with; the fresh answer is now, if it may be")
      return .nothing
    }
    guard response.status == stored.head.status else {
      try write("status \(stored.head.status) → \(response.status)\n")
      return .different
    }
    if change == .unchanged { return .success }
    let fresh = try collected(response)
    let ignored: [String] = if case .json(let pointers) = request.changeRule { pointers } else { [] }
    if let lines = JSONDifference.lines(from: stored.body, to: fresh.body, ignoring: ignored) {
      if lines.isEmpty { return .success }
      try write(coloured(lines.joined(separator: "\n") + "\n"))
      return .different
    }
    if stored.body == fresh.body { return .success }
    return try compareText(stored, fresh)
  }

  private func compareText(_ stored: Side, _ fresh: Side) throws(BodyError) -> ExitStatus {
    let bodies = [stored.body, fresh.body].map { [UInt8]($0) }
    if bodies.contains(where: { BodyPrinter.isBinary($0[...], isWhole: true) }) {
      try write(
        "binary bodies differ: \(Words.size(Int64(bodies[0].count))) → \(Words.size(Int64(bodies[1].count)))\n"
      )
      return .different
    }
    let labels = ["stored \(Timestamp.text(milliseconds: stored.head.receivedAtMilliseconds))", "fresh"]
    guard let output = TextDifference.unified(bodies, labels: labels) else {
      diagnostics.say("the program diff cannot be run; install diffutils")
      return .inputOutput
    }
    if diagnostics.terminal.isOutput {
      try write(coloured(String(decoding: output, as: UTF8.self)))
    } else {
      try write(bytes: output)
    }
    return .different
  }

  private func write(_ text: String) throws(BodyError) { try write(bytes: Array(text.utf8)) }

  private func write(bytes: [UInt8]) throws(BodyError) {
    do { try OutputDescriptor.standardOutput.write(bytes) } catch { throw .output(error) }
  }

  /// Removed lines red, added ones green, on a terminal that has colours.
  private func coloured(_ text: String) -> String {
    guard diagnostics.terminal.isOutput else { return text }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let safe = lines.map(TerminalText.visible)
    guard diagnostics.terminal.hasColour else { return safe.joined(separator: "\n") }
    return safe.map { line in
      let colour: String? =
        line.hasPrefix("-") ? "31" : line.hasPrefix("+") ? "32" : line.hasPrefix("@") ? "36" : nil
      return colour.map { "\u{1B}[\($0)m\(line)\u{1B}[0m" } ?? line
    }.joined(separator: "\n")
  }
}
