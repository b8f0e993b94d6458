internal import CacheStore
internal import RedisTier

/// The text of `stats`.
enum StatisticsText {
  /// The totals, then a line for each account and host.
  ///
  /// - Parameter isWhole: Whether the parts are all there are: pinned entries are counted for the whole store only.
  static func text(
    _ statistics: StoreStatistics, _ parts: [StoreStatistics.Part], _ tier: TierCounts = TierCounts(),
    isWhole: Bool = true, width: Int?
  ) -> String {
    let pinned = isWhole ? ", \(statistics.pinnedRows) pinned" : ""
    let rows = parts.reduce(0) { $0 + $1.rows }
    let bytes = parts.reduce(Int64(0)) { $0 + $1.bytes }
    let saved = parts.reduce(into: UsageCount()) { sum, part in
      sum.savedBytes += part.deliveries.savedBytes
      sum.savedMilliseconds += part.deliveries.savedMilliseconds
    }
    var text = """
      entries  \(rows), \(Words.size(bytes)) of bodies\(pinned)
      file     \(Words.size(statistics.fileBytes)) of at most \(Words.size(statistics.limitBytes)), and \(Words.size(statistics.logBytes)) of log
      saved    \(Words.size(saved.savedBytes)) of transfer, \(Words.elapsed(.milliseconds(saved.savedMilliseconds))) of waiting

      """
    text += shared(tier)
    for part in parts {
      let counts = part.deliveries
      let name = width == nil ? part.account : EntryTable.shortAccount(part.account)
      let account = part.account.isEmpty ? "" : "  [\(name)]"
      text += row(
        TerminalText.visible(part.host + account), ": \(Words.entries(part.rows))",
        [
          "delivered \(counts.stored) from the store", "\(counts.fresh) fresh",
          "\(counts.unchanged) confirmed by 304", Counted.text(counts.failed, "failure"),
        ], width)
    }
    return text
  }

  /// The line of an account and host; in a window narrower than that, its counts are below it.
  private static func row(_ name: String, _ entries: String, _ counts: [String], _ width: Int?) -> String {
    let line = "\(name)\(entries) · \(counts.joined(separator: ", "))\n"
    // The line break takes no column.
    guard let width, line.count - 1 > width else { return line }
    let first = Columns.cut(name, to: max(1, width - entries.count)) + entries
    let parts: [String] = counts.dropLast().map { $0 + "," } + counts.suffix(1)
    let below = Columns.wrapped(parts, to: width - 2).map { "  " + $0 }
    return ([first] + below).map { Columns.cut($0, to: width) + "\n" }.joined()
  }

  /// What the fleet's second tier has done; empty where there was none.
  static func shared(_ counts: TierCounts) -> String {
    guard counts != TierCounts() else { return "" }
    return
      "tier     asked for \(Counted.text(counts.asked, "exchange")), \(counts.stored) stored, "
      + "\(counts.offered) offered, silent for \(counts.silent)\n"
  }

  /// The JSON object of what the fleet's second tier has done, on a line; nothing where there was none.
  static func line(_ counts: TierCounts) -> [UInt8] {
    guard counts != TierCounts() else { return [] }
    var json = JSONWriter()
    json.member("tier_asked", counts.asked)
    json.member("tier_stored", counts.stored)
    json.member("tier_offered", counts.offered)
    json.member("tier_silent", counts.silent)
    return json.line()
  }

  /// The JSON object of an account and host, on a line.
  static func line(_ part: StoreStatistics.Part) -> [UInt8] {
    var json = JSONWriter()
    json.member("account", part.account)
    json.member("host", part.host)
    json.member("rows", part.rows)
    json.member("bytes", part.bytes)
    json.member("stored", part.deliveries.stored)
    json.member("fresh", part.deliveries.fresh)
    json.member("unchanged", part.deliveries.unchanged)
    json.member("failed", part.deliveries.failed)
    json.member("saved_bytes", part.deliveries.savedBytes)
    json.member("saved_ms", part.deliveries.savedMilliseconds)
    return json.line()
  }
}

/// The text of `doctor`.
enum FindingText {
  /// A line for each finding, with its remedy below.
  static func text(_ findings: [StoreFinding]) -> String {
    findings.map { finding in
      let remedy = finding.remedy.map { "\n       \(TerminalText.visible($0.words))" } ?? ""
      return
        "\(name(finding.severity))  \(finding.subject): \(TerminalText.visible(finding.message))\(remedy)\n"
    }.joined()
  }

  /// The JSON object of a finding, on a line.
  static func line(_ finding: StoreFinding) -> [UInt8] {
    var json = JSONWriter()
    json.member("subject", finding.subject)
    json.member("severity", name(finding.severity).split(separator: " ").joined())
    json.member("message", finding.message)
    if let remedy = finding.remedy { json.member("remedy", remedy.words) }
    return json.line()
  }

  private static func name(_ severity: StoreFinding.Severity) -> String {
    switch severity {
    case .fine: "fine "
    case .wrong: "wrong"
    case .repaired: "repaired"
    }
  }
}
