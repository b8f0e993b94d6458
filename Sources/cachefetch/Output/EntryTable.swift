internal import CacheStore
internal import DataService

/// The table of `list`.
struct EntryTable {
  /// The instant ages are counted from, in milliseconds since 1970-01-01 UTC.
  let now: Int64

  /// Entries in the order asked for.
  static func sorted(_ entries: [StoredEntry], by order: ListOrder) -> [StoredEntry] {
    switch order {
    case .url: entries.sorted { ($0.key.target, $0.key.account) < ($1.key.target, $1.key.account) }
    case .age: entries.sorted { $0.response.receivedAt > $1.response.receivedAt }
    case .size: entries.sorted { $0.response.body.length < $1.response.body.length }
    case .used: entries.sorted { $0.usedAtMilliseconds ?? 0 > $1.usedAtMilliseconds ?? 0 }
    }
  }

  private struct Cells {
    /// Age, size and state.
    var figures: [String]
    var target: String
    /// What distinguishes it from other entries of the URL; `short` cuts the account's name.
    var short: String
    var long: String
  }

  private static let header = ["RECEIVED", "SIZE", "STATE"]
  /// A narrower window has no room for the URL beside the rest.
  private static let narrow = 60

  /// For a terminal: a header and one line for each entry, columns aligned and cut to the window's `width`; a narrow
  /// window gets two lines for each.
  func text(_ entries: [StoredEntry], width: Int) -> String {
    let rows = entries.map(cells)
    var widths = Self.header.map(\.count)
    for row in rows {
      for column in 0..<3 { widths[column] = max(widths[column], row.figures[column].count) }
    }
    let isNarrow = width < Self.narrow
    let header = Self.line(Self.header, widths)
    var text = Columns.cut(isNarrow ? Self.trimmed(header) : header + "  ENTRY", to: width) + "\n"
    let indent = isNarrow ? 2 : widths.reduce(0, +) + 6
    for row in rows {
      let (figures, entry) = (Self.line(row.figures, widths), Self.fitted(row, to: width - indent))
      text += isNarrow ? "\(Self.trimmed(figures))\n  \(entry)\n" : "\(figures)  \(entry)\n"
    }
    return text
  }

  /// For a program: one line for each entry, columns separated by tabs.
  func lines(_ entries: [StoredEntry]) -> String {
    entries.map { entry in
      let row = entry.response
      let columns: [String] = [
        Timestamp.text(milliseconds: row.receivedAt), String(row.body.length), String(row.status),
        state(of: entry),
        entry.key.account, entry.key.target,
        ((entry.key.method == "GET" ? [] : ["-X \(entry.key.method)"]) + options(entry)).joined(
          separator: " "),
        entry.tags.map { "#" + $0 }.joined(separator: " "),
      ]
      return columns.map(TerminalText.visible).joined(separator: "\t") + "\n"
    }.joined()
  }

  /// The number of entries and the total length of their bodies; also how many are shown, if not all.
  static func total(of entries: [StoredEntry], shown: Int) -> String {
    let bytes = entries.reduce(Int64(0)) { $0 + $1.response.body.length }
    let first = shown < entries.count ? "the first \(shown) of " : ""
    return "\(first)\(Words.entries(entries.count)), \(Words.size(bytes))\n"
  }

  private static func line(_ cells: [String], _ widths: [Int]) -> String {
    (0..<3).map { Columns.pad(cells[$0], to: widths[$0], isFigure: $0 < 2) }.joined(separator: "  ")
  }

  private static func trimmed(_ line: String) -> String {
    String(line.reversed().drop { $0 == " " }.reversed())
  }

  /// The URL and its distinguishing details, in `width` columns: the account's name is cut first, then the URL.
  private static func fitted(_ row: Cells, to width: Int) -> String {
    if row.target.count + row.long.count <= width { return row.target + row.long }
    let room = width - row.short.count
    guard room >= width / 2 else { return Columns.cut(row.target + row.short, to: max(1, width)) }
    return Columns.cut(row.target, to: room) + row.short
  }

  private func cells(_ entry: StoredEntry) -> Cells {
    let row = entry.response
    let method = entry.key.method == "GET" ? "" : entry.key.method + " "
    return Cells(
      figures: [
        Words.age(.milliseconds(max(0, now - row.receivedAt))), Words.size(row.body.length),
        state(of: entry, status: row.status == 200 ? nil : row.status),
      ],
      target: TerminalText.visible(method + entry.key.target),
      short: details(entry, Self.shortAccount(entry.key.account)), long: details(entry, entry.key.account))
  }

  /// `fresh pinned`. Without a lifetime of its server's an entry is neither called fresh nor stale.
  func state(of entry: StoredEntry, status: Int? = nil) -> String {
    let row = entry.response
    var words = Freshness.isStale(stored: row, now: now) ? Words.stale(row.fields) : ["fresh"]
    if !entry.isSound { words = ["damaged"] }
    if let status { words.append(String(status)) }
    if row.isPinned { words.append("pinned") }
    if row.isImported { words.append("imported") }
    if row.isLocal { words.append("local") }
    return words.joined(separator: " ")
  }

  /// The options that are part of the key, and the headers that `Vary` names: `-k (accept-language: de)`.
  func options(_ entry: StoredEntry) -> [String] {
    let extra = KeyExtra(entry.key.extra).text
    let variant = entry.response.variant.split(separator: "\n").joined(separator: ", ")
    return (extra.isEmpty ? [] : [extra]) + (variant.isEmpty ? [] : ["(\(variant))"])
  }

  /// `  [alice]  -k  (accept-language: de)  #news`.
  private func details(_ entry: StoredEntry, _ account: String) -> String {
    let parts = (account.isEmpty ? [] : ["[\(account)]"]) + options(entry) + entry.tags.map { "#" + $0 }
    return parts.map { "  " + TerminalText.visible($0) }.joined()
  }

  /// `auto:` with the beginning of its digest; names unchanged.
  static func shortAccount(_ name: String) -> String {
    name.hasPrefix("auto:") && name.count > 14 ? name.prefix(13) + "…" : name
  }

  /// The JSON object of an entry, on a line.
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
    if let used = entry.usedAtMilliseconds { json.member("used_at", Timestamp.text(milliseconds: used)) }
    json.member("age_ms", max(0, now - row.receivedAt))
    json.member("stale", Freshness.isStale(stored: row, now: now))
    json.member("pinned", row.isPinned)
    json.member("imported", row.isImported)
    json.member("tags", entry.tags)
    json.member("damaged", !entry.isSound)
    return json.line()
  }
}

/// Groups entries of one URL by account and by the options that are part of the key.
struct EntryGroups {
  private struct Group {
    var account: String
    var extra: String
    var count: Int

    var isAutomatic: Bool { account.hasPrefix("auto:") }
    /// The account's name, if it was given: that of an automatic one is a digest, which nobody types.
    var name: String? { account.isEmpty || isAutomatic ? nil : account }
  }

  private let groups: [Group]

  init(_ entries: [StoredEntry]) {
    var counts: [String: Group] = [:]
    for entry in entries {
      counts[
        entry.key.account + "\n" + entry.key.extra,
        default: Group(account: entry.key.account, extra: entry.key.extra, count: 0)
      ].count += 1
    }
    groups = counts.values.sorted { ($0.account, $0.extra) < ($1.account, $1.extra) }
  }

  /// How many groups are named one by one.
  private static let most = 4

  /// `2 of alice, 1 of no account with -k`; `nil` if there is only one group.
  var text: String? {
    guard groups.count > 1 else { return nil }
    var parts = groups.prefix(Self.most).map { group in
      let account = group.account.isEmpty ? "of no account" : "of \(EntryTable.shortAccount(group.account))"
      let extra = KeyExtra(group.extra).text
      return "\(group.count) \(account)\(extra.isEmpty ? "" : " with \(extra)")"
    }
    let others = groups.dropFirst(Self.most).reduce(0) { $0 + $1.count }
    if others > 0 { parts.append("\(others) more") }
    return parts.joined(separator: ", ")
  }

  /// The options that select one group: `--account, -k or --exact`; `nil` if there is none.
  var narrowing: String? {
    guard groups.count > 1 else { return nil }
    var options: [String] = groups.contains { $0.name != nil } ? ["--account"] : []
    for option in groups.flatMap({ KeyExtra($0.extra).parts.compactMap(\.narrowing) })
    where !options.contains(option) {
      options.append(option)
    }
    if groups.contains(where: { $0.name == nil && $0.extra.isEmpty }) { options.append("--exact") }
    guard let last = options.popLast() else { return nil }
    return options.isEmpty ? last : options.joined(separator: ", ") + " or " + last
  }

  /// How to request each: `without these options`, `with --account alice`, `with -k`.
  var waysToAsk: [String] {
    var ways: [String] = []
    for group in groups.prefix(Self.most) {
      let account = group.name.map { "--account \($0)" } ?? (group.isAutomatic ? "the same credentials" : nil)
      let all = [account].compactMap(\.self) + KeyExtra(group.extra).parts.map(\.request)
      let way =
        all.isEmpty
        ? "without an account and such options"
        : "with \(all.joined(separator: all.contains { $0.hasPrefix("the same") } ? " and " : " "))"
      if !ways.contains(way) { ways.append(way) }
    }
    let others = groups.count - Self.most
    return others > 0 ? ways + ["in \(others) more \(others == 1 ? "way" : "ways"), which list shows"] : ways
  }
}
