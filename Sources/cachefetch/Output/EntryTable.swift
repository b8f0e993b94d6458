internal import CacheStore
internal import DataService

/// Rows as `list` shows them.
struct EntryTable {
  /// The instant ages are told at, in milliseconds since 1970-01-01 UTC.
  let now: Int64

  /// Rows in the order asked for.
  static func sorted(_ entries: [StoredEntry], by order: ListOrder) -> [StoredEntry] {
    switch order {
    case .url: entries.sorted { ($0.key.target, $0.key.account) < ($1.key.target, $1.key.account) }
    case .age: entries.sorted { $0.response.receivedAt > $1.response.receivedAt }
    case .size: entries.sorted { $0.response.body.length < $1.response.body.length }
    case .used: entries.sorted { $0.usedAt ?? 0 > $1.usedAt ?? 0 }
    }
  }

  /// One line a row, columns aligned, lines cut to `width` where there is one.
  func text(_ entries: [StoredEntry], width: Int?) -> String {
    let rows = entries.map(cells)
    let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
    var text = ""
    for row in rows {
      let figures = (0..<3).map { Columns.pad(row[$0], to: widths[$0], isFigure: $0 < 2) }
      let line = figures.joined(separator: "  ") + "  " + row[3]
      text += (width.map { Columns.cut(line, to: $0) } ?? line) + "\n"
    }
    return text
  }

  private func cells(_ entry: StoredEntry) -> [String] {
    let row = entry.response
    var marks = Freshness.isStale(stored: row, now: now) ? "stale" : "fresh"
    if !entry.isSound { marks = "damaged" }
    if row.isPinned { marks += " pinned" }
    let method = entry.key.method == "GET" ? "" : entry.key.method + " "
    let account = entry.key.account.isEmpty ? "" : "  [\(Self.shortAccount(entry.key.account))]"
    return [
      Words.age(.milliseconds(max(0, now - row.receivedAt))), Words.size(row.body.length), marks,
      TerminalText.visible(method + entry.key.target + account),
    ]
  }

  /// `auto:` and the beginning of its digest; names as they are.
  static func shortAccount(_ name: String) -> String {
    name.hasPrefix("auto:") && name.count > 14 ? name.prefix(13) + "…" : name
  }

  /// The JSON object of a row, on a line.
  func line(_ entry: StoredEntry) -> [UInt8] {
    let row = entry.response
    var json = JSONWriter()
    let isOwnKey = entry.key.target.hasPrefix("key:")
    if isOwnKey {
      json.member("key", String(entry.key.target.dropFirst(4)))
    } else {
      json.member("url", entry.key.target)
    }
    if let url = row.responseURL { json.member("response_url", url) }
    json.member("method", entry.key.method)
    json.member("account", entry.key.account)
    if !entry.key.extra.isEmpty { json.member("extra", entry.key.extra) }
    if !row.variant.isEmpty { json.member("variant", row.variant) }
    json.member("status", row.status)
    json.member("fields", pairs: row.fields.all.map { ($0.name, $0.value) })
    json.member("body_bytes", row.body.length)
    json.member("stored_at", Timestamp.text(milliseconds: row.receivedAt))
    json.member("changed_at", Timestamp.text(milliseconds: row.changedAt))
    if let used = entry.usedAt { json.member("used_at", Timestamp.text(milliseconds: used)) }
    json.member("age_ms", max(0, now - row.receivedAt))
    json.member("stale", Freshness.isStale(stored: row, now: now))
    json.member("pinned", row.isPinned)
    json.member("tags", entry.tags)
    json.member("damaged", !entry.isSound)
    return json.line()
  }
}
