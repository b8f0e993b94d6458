internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// `report`: a page about the store in one file, for a browser. Reads the store, never the network.
extension StoreCommands {
  func report() throws(UsageError) -> ExitStatus {
    let name = arguments.text(.output)
    guard name != nil || !diagnostics.terminal.isOutput else {
      throw UsageError("a report cannot be shown on a terminal", "write -o FILE and open FILE in a browser")
    }
    let selection = try RowSelection(arguments, now: now, key: key)
    var file: ReplacedFile?
    if let name, name != "-" {
      try BundleFile.check(name, exporting: service.store.configuration.path, isOpen: true)
      file = try ReplacedFile(name, mode: 0o600)
    }
    if let missing = missing() { return missing }
    let chosen = chosenText
    return run { () async throws(DataServiceError) in
      let entries = try await self.entries(selection)
      do throws(CacheStoreError) {
        let statistics = try await service.store.statistics()
        return try await page(of: entries, statistics.parts, chosen)
      } catch {
        throw DataServiceError(store: error)
      }
    } then: { page in
      if page.count == 0 {
        diagnostics.say(selection.isAll ? "nothing is stored" : "no stored entry matches")
      }
      let bytes = page.html
      guard let file else { return Output.write(bytes, diagnostics) }
      do throws(OutputError) { try file.replace(with: bytes) } catch {
        return Output.status(after: error, diagnostics)
      }
      diagnostics.show("wrote \(Words.entries(page.count)), \(Words.size(Int64(bytes.count)))\n")
      return .success
    }
  }

  /// The options that choose entries, as they were given; empty for all entries.
  private var chosenText: String {
    arguments.options.filter { [.account, .tag].contains($0.name) || $0.name.group == .selection }
      .map { ["--" + $0.name.rawValue, $0.text.map(Shown.url)].compactMap(\.self).joined(separator: " ") }
      .joined(separator: " ")
  }

  /// The page of the entries that were used last, with the figures of their accounts and hosts.
  private func page(
    of entries: [StoredEntry], _ parts: [StoreStatistics.Part], _ chosen: String
  ) async throws(CacheStoreError) -> ReportPage {
    let siblings = Dictionary(grouping: entries.filter(\.isSound), by: \.key).mapValues { $0.map(\.response) }
    var page = ReportPage(now: now, chosen: chosen)
    let latest = entries.sorted { Self.usedOrReceived($0) > Self.usedOrReceived($1) }
    var room = ReportBody.mostBytes
    for entry in latest.prefix(ReportPage.mostEntries) {
      page.add(entry, siblings[entry.key] ?? [], try await body(of: entry, &room))
    }
    page.leftOut = max(0, entries.count - ReportPage.mostEntries)
    page.parts = parts.filter { part in chosen.isEmpty || page.holds(account: part.account, host: part.host) }
    return page
  }

  private static func usedOrReceived(_ entry: StoredEntry) -> Int64 {
    max(entry.usedAtMilliseconds ?? .min, entry.response.receivedAt)
  }

  /// The body of an entry, where the page may hold it; takes its length from `room`.
  private func body(of entry: StoredEntry, _ room: inout Int64) async throws(CacheStoreError) -> ReportBody {
    let body = entry.response.body
    let hasRoom = body.length <= room
    let isPublic = entry.key.account.isEmpty || arguments.has(.bodies)
    if let reason = ReportBody.reason(without: entry, isPublic: isPublic, hasRoom: hasRoom) {
      return .leftOut(reason)
    }
    do throws(CacheStoreError) {
      let bytes = try await service.store.firstChunk(of: body)
      guard Int64(bytes.count) == body.length else { return .leftOut(ReportBody.tooLong) }
      let shown = ReportBody(Array(bytes), type: ReportPage.mediaType(of: entry))
      if !shown.isLeftOut { room -= body.length }
      return shown
    } catch {
      // A row that has been overwritten or removed since it was listed, or is damaged, does not stop the others.
      guard [.corrupt, .replaced, .signedOut].contains(error.reason), error.sqliteCode == 0 else {
        throw error
      }
      return .leftOut("The body is damaged, or was replaced while the report was made.")
    }
  }
}
