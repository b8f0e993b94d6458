internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// Carries out `diff`: the stored response against the fresh one. 0 the same, or the first time; 1 different; above 1
/// trouble.
struct DiffCommand {
  let request: DataService.Request
  let line: DeliveryLine
  let report: DiffReport
  let source: any LoadSource
  let diagnostics: Diagnostics

  init(
    _ arguments: Arguments, _ source: any LoadSource, _ diagnostics: Diagnostics
  ) throws(UsageError) {
    request = try RequestArguments(arguments).request(for: arguments.operand)
    line = DeliveryLine(url: arguments.operand, request: request)
    report = DiffReport(line: line, isJSON: arguments.has(.json), diagnostics: diagnostics)
    self.source = source
    self.diagnostics = diagnostics
  }

  /// Runs to the end and returns the exit status.
  func run() -> ExitStatus {
    let reader = LoadReader(source, diagnostics: diagnostics)
    return reader.run { () throws(OutputError) in
      do throws(BodyError) {
        return try follow(reader)
      } catch {
        try report.failed(error.ofBody(), stored: nil)
        return .nothing
      }
    }
  }

  private func follow(_ reader: LoadReader) throws(BodyError) -> ExitStatus {
    var stored: DiffSide?
    var status = ExitStatus.nothing
    reader.begin(0, request, .storedThenFresh)
    while true {
      let event: LoadReader.Event?
      do { event = try reader.next() } catch { throw .output(error) }
      switch event {
      case .delivery(_, .stored(let response)): stored = try DiffSide(response)
      case .delivery(_, .fresh(let response, let change)):
        if let stored { status = try compare(stored, response, change) } else { status = try first(response) }
      case .delivery(_, .failure(let error, _)):
        do { try report.failed(error, stored: stored) } catch { throw .output(error) }
        status = stored == nil ? .nothing : .storedOnly
      case .ended, nil: return status
      }
    }
  }

  /// Nothing was stored. That is no failure if the fresh response is stored now, since the next run can compare with
  /// it.
  private func first(_ response: DiffSide.Response) throws(BodyError) -> ExitStatus {
    do { try report.first(DiffSide(head: response.head)) } catch {
      throw .output(error)
    }
    switch response.kept {
    case .yes: return .success
    case .no(let reason): return reason.isOfStore ? .inputOutput : .nothing
    }
  }

  private func compare(
    _ stored: DiffSide, _ response: DiffSide.Response, _ change: DataService.Change
  ) throws(BodyError) -> ExitStatus {
    var fresh = DiffSide(head: response.head)
    var difference: DiffReport.Difference?
    let isOtherStatus = response.status != stored.head.status
    // The next run compares with the fresh response, so a difference not reported now is never reported.
    if change != .unchanged {
      do {
        fresh = try DiffSide(response)
      } catch .body(let error) {
        // It still arrives where it is not stored, and may break off.
        do { try report.failed(error, stored: stored) } catch { throw .output(error) }
        return .storedOnly
      }
      // A response that is not stored is read as it arrives, and the service has not compared it.
      let isUncompared = stored.length == fresh.length && stored.body == nil && response.kept != .yes
      if isUncompared, !isOtherStatus {
        throw .body(
          DataServiceError(
            .tooLarge,
            "the bodies are larger than 64 MiB, and were not compared, since the fresh one is not stored",
            hint: "compare files: use get -o"))
      }
      if !isUncompared { difference = try self.difference(stored, fresh) }
    }
    do { try report.compared(stored, fresh, difference) } catch { throw .output(error) }
    return difference == nil && !isOtherStatus ? .success : .different
  }

  /// How the bodies differ; `nil` if they do not.
  private func difference(_ stored: DiffSide, _ fresh: DiffSide) throws(BodyError) -> DiffReport.Difference? {
    // The service compares bodies of any size, and has found that these differ.
    guard let old = stored.body, let new = fresh.body else { return .large }
    let ignored: [String]? = if case .json(let pointers) = request.changeRule { pointers } else { nil }
    if ignored != nil || stored.isJSON && fresh.isJSON,
      let difference = JSONDifference(from: old, to: new, ignoring: ignored ?? [])
    {
      return difference.changes.isEmpty ? nil : .json(difference)
    }
    if old == new { return nil }
    let bodies = [old, new].map { [UInt8]($0) }
    if bodies.contains(where: { BodyPrinter.isBinary($0[...], isWhole: true) }) { return .binary }
    let labels = ["stored \(Timestamp.text(milliseconds: stored.head.receivedAtMilliseconds))", "fresh"]
    do throws(OutputError) {
      return try TextDifference.unified(bodies, labels: labels).map { .text($0) } ?? .unshown
    } catch {
      throw .output(error)
    }
  }
}
