internal import CacheStore
internal import DataService

/// The verbs that remove entries. Both follow one rule: they ask before removing more than one entry, and require
/// `--yes` if there is no terminal to ask at. They remove a single entry without a question.
extension StoreCommands {
  /// `rm`.
  func rm() throws(UsageError) -> ExitStatus {
    let selection = try RowSelection(arguments, now: now, key: key)
    if let host = arguments.text(.pause) { return try endPause(of: host, selection) }
    try selection.requireSome(to: "remove")
    try arguments.requireServer()
    if let missing = missing() { return missing }
    return run { () async throws(DataServiceError) in
      try await self.entries(selection)
    } then: { entries in
      guard !entries.isEmpty else {
        return run { () async throws(DataServiceError) in
          try await self.service.fence(selection.meant)
          let cutOff = try await self.removeCutOff(selection)
          if cutOff > 0 {
            self.sayRemoved(Counted.text(cutOff, "cut-off download"))
          } else if !self.arguments.has(.fleet) {
            self.diagnostics.say("no stored entry matches")
          }
          try await self.endPauses()
          return await self.invalidateShared([], of: selection)
        } then: { unconfirmed in
          written(0, unconfirmed: unconfirmed)
        }
      }
      let groups = EntryGroups(entries)
      if entries.count > 1 {
        let question = "Remove \(Words.entries(entries.count))\(groups.text.map { " (\($0))" } ?? "")?"
        if let refusal = refusal(question, narrowing: selection.targets == nil ? nil : groups.narrowing) {
          return refusal
        }
      }
      return remove(entries, of: selection, groups)
    }
  }

  private func remove(_ entries: [StoredEntry], of selection: RowSelection, _ groups: EntryGroups)
    -> ExitStatus
  {
    let service = service
    return run { () async throws(DataServiceError) in
      try await service.fence(selection.meant)
      let removed = try await selection.inBatches(entries) { (some) throws(DataServiceError) in
        try await service.remove(some)
      }
      _ = try await self.removeCutOff(selection)
      try await self.endPauses()
      return (removed, await self.invalidateShared(entries, of: selection))
    } then: { removed, unconfirmed in
      let which = removed == entries.count ? groups.text.map { ": \($0)" } ?? "" : ""
      sayRemoved("\(Words.entries(removed))\(which)")
      return written(removed, unconfirmed: unconfirmed)
    }
  }

  /// Says what was removed, unless the object of `--json` does.
  private func sayRemoved(_ what: String) {
    if !arguments.has(.json) { diagnostics.show(TerminalText.visible("removed \(what)") + "\n") }
  }

  /// Removes the cut-off downloads that are selected. No entry shows them, and the next load would resume them.
  /// - Returns: How many there were.
  private func removeCutOff(_ selection: RowSelection) async throws(DataServiceError) -> Int {
    guard selection.mayMeanCutOff else { return 0 }
    do throws(CacheStoreError) {
      return try await service.store.removeCutOff(selection.selection) { selection.includes($0) }
    } catch {
      throw DataServiceError(store: error)
    }
  }

  /// With `--fleet`: invalidates what the server has of the entries, and of the URLs given.
  /// - Returns: Of how many it has not confirmed it; `nil` without `--fleet`.
  private func invalidateShared(_ entries: [StoredEntry], of selection: RowSelection) async -> Int? {
    guard arguments.has(.fleet) else { return nil }
    let account = arguments.text(.account) ?? ""
    let named = (selection.targets ?? []).map { RequestKey(account: account, target: $0) }
    return await service.invalidateUpstream(entries.map(\.key) + named)
  }

  /// Says what was removed, and whether the server has confirmed its part.
  private func written(_ removed: Int, unconfirmed: Int?) -> ExitStatus {
    let status = writeRemoved(removed) {
      $0.member("removed", removed)
      if let unconfirmed { $0.member("unconfirmed", unconfirmed) }
    }
    guard let unconfirmed, unconfirmed > 0 else { return status }
    let doctor = "“cachefetch doctor\(StoreLocation.repeatedOption)”"
    diagnostics.say(
      "the server has not confirmed \(Counted.text(unconfirmed, "removal")); run \(doctor)"
        + "\(arguments.repeatedServer) to see why")
    return status == .success ? .inputOutput : status
  }

  /// `sign-out`.
  func signOut() throws(UsageError) -> ExitStatus {
    guard let account = arguments.text(.account) else {
      throw UsageError("sign-out needs an account", "write --account NAME, as cachefetch list shows it")
    }
    if let missing = missing() {
      if arguments.server() != nil {
        diagnostics.say("nothing is signed out: the server that machines share was not asked either")
      }
      return missing
    }
    let service = service
    var selection = EntrySelection()
    selection.accounts = [account]
    let chosen = selection
    return run { () async throws(DataServiceError) in
      try await service.entries(chosen).count
    } then: { count in
      if count > 1, let refusal = refusal("Remove \(Words.entries(count)) of \(account)?", narrowing: nil) {
        return refusal
      }
      return run { () async throws(DataServiceError) in
        try await service.signOut(.named(account))
      } then: { isConfirmed in
        if !arguments.has(.json) {
          let removed = count == 0 ? noneFound : "removed \(Words.entries(count))"
          diagnostics.show("signed out \(TerminalText.visible(account)): \(removed)\n")
        }
        let status = writeRemoved(count) {
          $0.member("account", account)
          $0.member("removed", count)
          if !isConfirmed { $0.member("unconfirmed", 1) }
        }
        return isConfirmed || status != .success ? status : .inputOutput
      }
    }
  }

  /// What is said of an account without entries: its name may have been mistyped.
  private var noneFound: String {
    "no entry is stored for it; “cachefetch list\(StoreLocation.repeatedOption)” shows whose there are"
  }

  /// Writes the object of `--json` that says what was removed; without `--json`, nothing.
  private func writeRemoved(_ count: Int, _ members: (inout JSONWriter) -> Void) -> ExitStatus {
    guard arguments.has(.json) else { return .success }
    var json = JSONWriter()
    members(&json)
    return Output.write(json.line(), diagnostics)
  }

  /// The exit status if the removal of more than one entry is refused; `nil` if `--yes` or the user at the terminal
  /// allows it.
  private func refusal(_ question: String, narrowing: String?) -> ExitStatus? {
    if arguments.has(.yes) { return nil }
    guard diagnostics.terminal.isInput, diagnostics.terminal.isError else {
      let remedy = "write --yes" + (narrowing.map { ", or narrow it with \($0)" } ?? "")
      Diagnostics.fail(UsageError("\(question) There is nobody to ask", remedy))
      return .usage
    }
    // Under `-q` too, since the command waits for the answer.
    diagnostics.status.write("\(TerminalText.visible(question)) [y/N] ")
    let answer = InputFile.line()
    if Signals.pending != nil {
      diagnostics.status.write("\n")
      return Signals.exitStatus
    }
    if let answer, ["y", "yes"].contains(answer.lowercased()) { return nil }
    diagnostics.say("nothing was removed")
    return .different
  }

  /// `rm --pause HOST`: ends the pauses of a host and removes nothing.
  private func endPause(of host: String, _ selection: RowSelection) throws(UsageError) -> ExitStatus {
    var rest = selection
    rest.selection.accounts = EntrySelection.all.accounts
    guard rest.isAll, !arguments.has(.fleet) else {
      throw UsageError("--pause removes no entries", "leave out what selects them, or --pause")
    }
    if let missing = missing() { return missing }
    return run { () async throws(DataServiceError) in
      try await self.endPauses()
    } then: { ended in
      if ended == 0 { diagnostics.say("no pause of \(TerminalText.visible(host)) is in force") }
      return writeRemoved(0) {
        $0.member("removed", 0)
        $0.member("pauses_ended", ended)
      }
    }
  }

  /// Ends the pauses (`Retry-After`) of the origins that URLs, `--host` and `--pause` name, whether or not they have
  /// entries: a user who removes an origin's entries wants to ask it again.
  /// - Returns: How many.
  @discardableResult private func endPauses() async throws(DataServiceError) -> Int {
    var origins: [String] = []
    // doctor names an origin, which is a URL.
    for operand in arguments.operands + arguments.texts(.pause) {
      if let url = try? NormalisedURL(operand) { origins.append(url.origin) }
    }
    let hosts = [arguments.text(.host), arguments.text(.pause)].compactMap { $0?.lowercased() }
    guard !origins.isEmpty || !hosts.isEmpty else { return 0 }
    let (account, named) = (arguments.text(.account), origins)
    let ended = try await service.endPauses { pause in
      guard account == nil || pause.account == account else { return false }
      return named.contains(pause.origin) || hosts.contains { Self.isHost($0, of: pause.origin) }
    }
    if ended > 0 {
      let over = ended == 1 ? "a pause is over" : "\(ended) pauses are over"
      let isFleets = arguments.server() != nil && !arguments.has(.fleet)
      diagnostics.say(
        over + (isFleets ? " here; one that the fleet knows of ends with --fleet" : ": it asks again"))
    }
    return ended
  }

  /// Whether an origin has this host, on any port unless one is given.
  private static func isHost(_ host: String, of origin: String) -> Bool {
    guard let url = try? NormalisedURL(origin) else { return false }
    return [url.host, url.authority, "\(url.host):\(url.port)"].contains(host)
  }
}
