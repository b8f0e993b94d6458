internal import CacheStore
internal import DataService
internal import PlatformC

/// `export` and `import`: a portable copy is a store of one file, with the same schema and the same checksums.
///
/// No request secret is in any store. Both leave out the responses to requests with credentials and those of accounts,
/// unless `--account` names one: on export because they are private, on import because a foreign file must not supply
/// responses for an account of this store.
extension StoreCommands {
  /// `export FILE`.
  func export() throws(UsageError) -> ExitStatus {
    if arguments.has(.json), try BundleFile.isStandardOutput(arguments.operand) {
      throw UsageError(
        "--json and \(TerminalText.visible(arguments.operand)) both go to standard output",
        "name a file, or leave --json out")
    }
    let store = service.store.configuration.path
    guard access(store, F_OK) == 0 else {
      diagnostics.say(StoreLocation.missing(arguments))
      return .inputOutput
    }
    let selection = try RowSelection(arguments, now: now, key: key)
    let account = arguments.text(.account)
    let target = try BundleFile.Target(arguments.operand, exporting: store, diagnostics)
    defer { target.clear() }
    let (source, part) = (service.store, target.part)
    return run { () async throws(DataServiceError) in
      var count = BundleCount()
      let entries = count.wanted(try await self.entries(selection), of: account)
      if entries.isEmpty { return count }
      do throws(CacheStoreError) {
        try await Self.write(entries, from: source, to: part, &count)
      } catch {
        throw Self.said(error, writing: target.file)
      }
      return count
    } then: { count in
      // An export of nothing would replace a copy that has something.
      guard count.rows > 0 else {
        diagnostics.say("nothing is exported: no stored response matches\(count.leftOutText)")
        let status = writeCount(count)
        return status == .success ? .nothing : status
      }
      do throws(OutputError) { try target.commit() } catch { return Output.status(after: error, diagnostics) }
      return report(count, "exported")
    }
  }

  /// `import FILE`: stores nothing before every byte has been checked; exits with 65 if one is wrong.
  func importBundle() throws(UsageError) -> ExitStatus {
    let bundle = try BundleFile.Source(arguments.operand, diagnostics)
    defer { bundle.clear() }
    var configuration = StoreConfiguration(path: bundle.path)
    configuration.isReadOnly = true
    configuration.isUntrusted = true
    let copy = RowCopy(source: ResponseStore(configuration: configuration), target: service.store)
    let account = arguments.text(.account)
    let checked = Await.result { () async throws(CacheStoreError) in
      var count = BundleCount()
      try await copy.source.requireSoundStructure()
      let entries = count.wanted(try await copy.source.entries(), of: account)
      for entry in entries {
        guard let refusal = BundleRow.refusal(entry) else { continue }
        let target = TerminalText.visible(Shown.url(String(entry.key.target.prefix(200))))
        throw CacheStoreError(.other, "a response in it \(refusal): \(target)")
      }
      try await copy.verify(entries)
      return (entries, count)
    }
    switch checked {
    case nil: return Signals.exitStatus
    case .failure(let error):
      diagnostics.say("nothing was imported from \(bundle.name): \(bundle.named(in: Self.reason(error)))")
      return .badData
    case .success(let (entries, count)): return take(entries, count, copy, of: bundle.name)
    }
  }

  private func take(
    _ entries: [StoredEntry], _ counted: BundleCount, _ copy: RowCopy, of name: String
  ) -> ExitStatus {
    let now = now
    return run { () async throws(DataServiceError) in
      var count = counted
      var copied: [StoredEntry] = []
      var target = ""
      do throws(CacheStoreError) {
        for entry in entries {
          target = entry.key.target
          let entry = BundleRow.accepted(entry, now: now)
          if try await copy.hasAsNew(as: entry) {
            count.leaveOut(.older)
          } else if try await copy.copy(entry, started: .imported) {
            count.rows += 1
            copied.append(entry)
          } else {
            count.leaveOut(.older)
          }
        }
      } catch {
        throw DataServiceError(store: error.storing(target))
      }
      // Each may have taken the place of one before it. Where the store does not say so now, it counts as there.
      for entry in copied where (try? await copy.hasAsNew(as: entry)) == false { count.takeBack(.limit) }
      return count
    } then: { count in
      let status = report(count, "imported")
      guard count.hasNothing, status == .success else { return status }
      if let account = arguments.text(.account), count.leftOut.isEmpty {
        diagnostics.say("\(name) has no response of the account \(TerminalText.visible(account))")
      }
      return .nothing
    }
  }

  private func report(_ count: BundleCount, _ verb: String) -> ExitStatus {
    diagnostics.show(count.text(verb))
    return writeCount(count)
  }

  /// The object of `--json`; without `--json`, nothing.
  private func writeCount(_ count: BundleCount) -> ExitStatus {
    guard arguments.has(.json) else { return .success }
    return Output.write(count.line(arguments.verb, file: arguments.operand), diagnostics)
  }

  private static func write(
    _ entries: [StoredEntry], from source: ResponseStore, to path: String, _ count: inout BundleCount
  ) async throws(CacheStoreError) {
    BundleFile.remove(path)
    var configuration = StoreConfiguration(path: path)
    // The copy's limit must not evict what is copied.
    configuration.maximumBytes = 1 << 50
    let target = ResponseStore(configuration: configuration)
    let copy = RowCopy(source: source, target: target)
    for entry in entries {
      do throws(CacheStoreError) {
        _ = try await copy.copyNewest(entry)
        count.rows += 1
      } catch {
        // A row that is damaged, or has been removed meanwhile, does not stop the export of the others.
        guard [.corrupt, .replaced].contains(error.reason), error.sqliteCode == 0 else { throw error }
        if error.reason == .corrupt { count.leaveOut(.damaged) }
      }
    }
    try await target.convertToSingleFile()
    await target.close()
  }

  /// An error that names the user's file, not the temporary one beside it.
  private static func said(_ error: CacheStoreError, writing file: String?) -> DataServiceError {
    let name = file.map { "“\(TerminalText.visible($0))”" } ?? "the copy for standard output"
    let (message, hint): (String, String) =
      switch error.reason {
      case .full: ("there is no room for \(name)", "free some disk space, or name a file on another disk")
      case .readOnly, .cannotOpen: ("\(name) cannot be written", "name a file in a folder you may write to")
      default: (error.message, error.advice ?? "try again")
      }
    return DataServiceError(.store, message, hint: hint, underlying: error)
  }

  /// Why a file is not a bundle, with a remedy for that file instead of the user's store.
  private static func reason(_ error: CacheStoreError) -> String {
    switch error.reason {
    case .corrupt: "it is damaged; get it anew, nothing of it can be relied on"
    case .foreignFile: "it is not an exported file; name one that “cachefetch export” wrote"
    case .newerSchema: "a newer release wrote it; update cachefetch"
    case .otherSchema, .earlierSchema: "\(error.message); export it anew with this release"
    default: Diagnostics.joined(error.message, error.reason == .other ? "get it anew" : error.advice)
    }
  }
}
