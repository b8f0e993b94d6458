internal import CacheStore

/// Groups entries of one URL by account and by the options that are part of the key.
struct EntryGroups {
  private struct Group {
    var account: String
    var extra: String
    var count: Int
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
      let account = group.account.isEmpty ? "of no account" : "of \(group.account)"
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
    var options: [String] = groups.contains { !$0.account.isEmpty } ? ["--account"] : []
    for option in groups.flatMap({ KeyExtra($0.extra).parts.compactMap(\.narrowing) })
    where !options.contains(option) {
      options.append(option)
    }
    if groups.contains(where: { $0.account.isEmpty && $0.extra.isEmpty }) { options.append("--exact") }
    guard let last = options.popLast() else { return nil }
    return options.isEmpty ? last : options.joined(separator: ", ") + " or " + last
  }

  /// How to request each: `without these options`, `with --account alice`, `with -k`.
  var waysToAsk: [String] {
    let ways = groups.prefix(Self.most).map { group in
      let account = group.account.isEmpty ? [] : ["--account \(group.account)"]
      let all = account + KeyExtra(group.extra).parts.map(\.request)
      return all.isEmpty ? "without an account and such options" : "with \(all.joined(separator: " "))"
    }
    let others = groups.count - ways.count
    return others > 0 ? ways + ["in \(others) more \(others == 1 ? "way" : "ways"), which list shows"] : ways
  }
}
