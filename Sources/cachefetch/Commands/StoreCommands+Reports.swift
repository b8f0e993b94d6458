internal import CacheStore
internal import DataService
internal import RedisTier

/// The verbs that report on the store: `stats` and `doctor`.
extension StoreCommands {
  /// `stats`: what is stored, and how often it was used.
  func stats() -> ExitStatus {
    if let missing = missing() { return missing }
    let store = service.store
    return run { () async throws(DataServiceError) in
      try await checkCopy()
      do throws(CacheStoreError) { return try await store.statistics() } catch {
        throw DataServiceError(store: error)
      }
    } then: { statistics in
      let account = arguments.text(.account)
      let parts = statistics.parts.filter { account == nil || $0.account == account }
      // What the tier has done is known of all accounts together.
      let tier = account == nil ? store.tierCounts : TierCounts()
      if arguments.has(.json) {
        return Output.write(parts.flatMap(StatisticsText.line) + StatisticsText.line(tier), diagnostics)
      }
      let width = diagnostics.terminal.isOutput ? Terminal.width(of: 1) : nil
      let text = StatisticsText.text(statistics, parts, tier, isWhole: account == nil, width: width)
      return Output.write(text, diagnostics)
    }
  }

  /// `doctor`: problems of the store and of its dependencies, with remedies. Exits with 1 if there is a problem.
  func doctor() throws(UsageError) -> ExitStatus {
    for option in [OptionName.json, .repair] where arguments.has(.newFleetKey) && arguments.has(option) {
      throw UsageError(
        "--\(option.rawValue) does nothing with --new-fleet-key, which prints a key", "leave one of them out")
    }
    if arguments.has(.newFleetKey) { return Output.write(FleetKey.generate() + "\n", diagnostics) }
    let (service, repairs) = (service, arguments.has(.repair))
    return run { () async throws(DataServiceError) in
      (await service.store.findings(repair: repairs, at: .now), await service.examineTier() ?? [])
    } then: { ofStore, inTier in
      let ofTier = inTier.map {
        // The subject says it already.
        let part = $0.subject.hasPrefix("tier ") ? String($0.subject.dropFirst(5)) : $0.subject
        return StoreFinding("tier", $0.isFine ? .fine : .wrong, "\(part): \($0.text)")
      }
      let findings =
        [transport] + linked + ofStore.map(named) + ProxyFindings.all(Environment.value) + ofTier
      let isWrong = findings.contains { $0.severity == .wrong }
      let status: ExitStatus = isWrong ? .different : .success
      if arguments.has(.json) {
        return Output.write(findings.flatMap(FindingText.line), diagnostics, status: status)
      }
      return Output.write(FindingText.text(findings), diagnostics, status: status)
    }
  }

  /// A missing store is a problem if the user named it: the name may be mistyped.
  private func named(_ finding: StoreFinding) -> StoreFinding {
    guard finding.subject == "file", finding.severity == .fine, StoreLocation.isNamed(arguments),
      service.store.isMissing
    else { return finding }
    return StoreFinding("file", .wrong, finding.message, remedy: "correct the name, or fetch something first")
  }

  /// Libraries linked statically, which only a new build can update.
  private var linked: [StoreFinding] {
    ProcessStart.linkedLibraries.map { [StoreFinding("linked in", .fine, $0)] } ?? []
  }

  /// The transport, or the finding that there is none.
  private var transport: StoreFinding {
    do throws(DataServiceError) {
      return StoreFinding("transport", .fine, try TransportVersion.text())
    } catch {
      return StoreFinding(
        "transport", .wrong, "\(error.message): only what is stored can be delivered", remedy: error.remedy)
    }
  }
}
