internal import CacheStore
internal import DataService
internal import Glibc

/// `export` and `import`: a portable copy is a store of one file, with the same schema and the same checksums.
///
/// No request secret is in any store. An export also leaves out the rows of requests with credentials, whose account is
/// a digest that nobody else can compute, unless `--account` names whose rows are wanted.
extension StoreCommands {
  /// `export FILE`.
  func export() throws(UsageError) -> ExitStatus {
    var selection = try RowSelection(arguments, now: now, target: target)
    if selection.selection.accounts == nil { selection.selection.accounts = [""] }
    let file = try ReplacedFile(arguments.operand)
    if file.isDirect {
      throw UsageError(
        "“\(TerminalText.visible(arguments.operand))” is not a regular file", "name one to write")
    }
    let (source, part, chosen) = (service.store, "\(file.path).\(getpid()).part", selection)
    defer { BundleFile.remove(part) }
    return run { () async throws(DataServiceError) in
      let entries = try await self.entries(chosen)
      do throws(CacheStoreError) {
        try await Self.write(entries, from: source, to: part)
      } catch {
        throw DataServiceError(store: error)
      }
      return entries.count
    } then: { count in
      guard rename(part, file.path) == 0 else {
        diagnostics.say(.failed(errno, path: file.path))
        return .inputOutput
      }
      diagnostics.show("exported \(Self.answers(count))\n")
      return .success
    }
  }

  /// `import FILE`: taken in only when every byte of it has been checked; 65 where one is wrong.
  func takeIn() -> ExitStatus {
    let path = arguments.operand
    guard access(path, R_OK) == 0 else {
      diagnostics.say("“\(path)” cannot be read: \(SystemError.text(errno)); name an exported file")
      return .badData
    }
    var configuration = StoreConfiguration(path: path)
    configuration.isReadOnly = true
    let copy = RowCopy(source: ResponseStore(configuration: configuration), target: service.store)
    let checked = Await.result { () async throws(CacheStoreError) in
      let entries = try await copy.source.entries()
      try await copy.verify(entries)
      return entries
    }
    switch checked {
    case nil: return Signals.exitStatus
    case .failure(let error):
      diagnostics.say("nothing was imported: \(Diagnostics.joined(error.message, error.hint))")
      return .badData
    case .success(let entries): return take(entries, copy)
    }
  }

  private func take(_ entries: [StoredEntry], _ copy: RowCopy) -> ExitStatus {
    run { () async throws(DataServiceError) in
      var taken = 0
      do throws(CacheStoreError) {
        for entry in entries where try await !copy.hasNewer(than: entry) {
          if try await copy.copy(entry, started: .now) { taken += 1 }
        }
      } catch {
        throw DataServiceError(store: error)
      }
      return taken
    } then: { taken in
      let older = entries.count - taken
      diagnostics.show(
        "imported \(Self.answers(taken))\(older > 0 ? "; \(older) older than what is stored" : "")\n")
      return .success
    }
  }

  private static func write(
    _ entries: [StoredEntry], from source: ResponseStore, to path: String
  ) async throws(CacheStoreError) {
    BundleFile.remove(path)
    let target = ResponseStore(configuration: StoreConfiguration(path: path))
    let copy = RowCopy(source: source, target: target)
    for entry in entries { _ = try await copy.copy(entry, started: entry.response.started) }
    // An export of nothing is a store all the same.
    _ = try await target.accountID(named: "")
    try await target.becomePortable()
    await target.close()
  }

  private static func answers(_ count: Int) -> String { "\(count) stored answer\(count == 1 ? "" : "s")" }
}

/// The files of a store that is being made.
private enum BundleFile {
  static func remove(_ path: String) {
    for suffix in ["", "-wal", "-shm", "-journal", ".lock"] { unlink(path + suffix) }
  }
}
