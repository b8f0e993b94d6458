internal import CacheStore
internal import DataService

extension StoreCommands {
  /// `list`: in a pipe one line for each entry; on a terminal also a header and the total.
  func list() throws(UsageError) -> ExitStatus {
    let selection = try RowSelection(arguments, now: now, key: key)
    if let missing = missing() { return missing }
    return run { () async throws(DataServiceError) in
      try await self.entries(selection)
    } then: { entries in
      let order = arguments.text(.sort).flatMap { ListOrder(rawValue: $0) } ?? .url
      var sorted = EntryTable.sorted(entries, by: order)
      if arguments.has(.reverse) { sorted.reverse() }
      let shown = arguments.count(.limit).map { Array(sorted.prefix($0)) } ?? sorted
      let table = EntryTable(now: now)
      if arguments.has(.json) { return Output.write(shown.flatMap(table.line), diagnostics) }
      if entries.isEmpty {
        diagnostics.say(selection.isAll ? "nothing is stored" : "no stored entry matches")
      }
      guard diagnostics.terminal.isOutput, !entries.isEmpty else {
        return Output.write(table.text(shown, width: nil), diagnostics)
      }
      let text = table.text(shown, width: Terminal.width(of: 1), hasHeader: true)
      return Output.write(text + EntryTable.total(of: entries, shown: shown.count), diagnostics)
    }
  }
}
