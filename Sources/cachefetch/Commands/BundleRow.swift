internal import CacheStore
internal import DataService

/// Decides which rows of a foreign file are imported. Pure: depends only on its arguments.
enum BundleRow {
  /// The entry as it may be stored here: without `Set-Cookie` and dates to come, not pinned, and not received later than
  /// now.
  static func accepted(_ entry: StoredEntry, now: Int64) -> StoredEntry {
    var entry = entry
    entry.response.head.fields.removeAll { ["set-cookie", "set-cookie2"].contains($0.lowercased()) }
    for name in ["Date", "Last-Modified"]
    where entry.response.fields.values(of: name).contains(where: { isToCome($0, now) }) {
      entry.response.head.fields.remove(name)
    }
    entry.response.isPinned = false
    entry.response.head.requestedAt = min(entry.response.requestedAt, now)
    entry.response.head.receivedAt = min(entry.response.receivedAt, now)
    entry.response.changedAt = min(entry.response.changedAt, now)
    return entry
  }

  private static func isToCome(_ date: String, _ now: Int64) -> Bool {
    HTTPDate.parse(date, now: now).map { $0 > now } ?? false
  }

  /// Why no exchange could have produced an entry; `nil` if one could.
  static func refusal(_ entry: StoredEntry) -> String? {
    let (key, row) = (entry.key, entry.response)
    if !entry.isSound { return "is damaged" }
    if key.method.isEmpty || !key.method.utf8.allSatisfy(\.isTokenByte) { return "has a method that is none" }
    let isTarget = ["http://", "https://", "key:"].contains { key.target.hasPrefix($0) }
    if !isTarget || !isPlain(key.target) { return "has a URL that is none" }
    if let url = row.responseURL, !isPlain(url) { return "has a URL that is none" }
    if !["1.0", "1.1", "2", "3"].contains(row.httpVersion) || !isPlain(row.reason) {
      return "has a status line that is none"
    }
    let isStored =
      row.isGood
      ? (200..<300).contains(row.status) && row.status != 206
      : HTTPStoring.isStatusStorable(row.status, fields: row.fields)
    if !isStored { return "has a status that is never stored" }
    if !isWellFormed(row.fields.wire) { return "has header fields that are none" }
    let texts =
      [key.extra, key.account, row.vary] + entry.tags + row.variant.split(separator: "\n").map(String.init)
    return texts.allSatisfy(isPlain) ? nil : "has control characters in it"
  }

  /// Whether a text has no control characters, which include line breaks and NUL.
  private static func isPlain(_ text: String) -> Bool { !text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }

  /// Whether the bytes are lines of `Name: value` ending in CR LF, as this program writes them.
  static func isWellFormed(_ wire: [UInt8]) -> Bool {
    var rest = wire[...]
    while !rest.isEmpty {
      guard let end = rest.firstIndex(of: 0x0A), end > rest.startIndex, rest[end - 1] == 0x0D else {
        return false
      }
      let line = rest[..<(end - 1)]
      guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex,
        line[..<colon].allSatisfy(\.isTokenByte),
        !line[colon...].contains(where: { $0 == 0x0D || $0 == 0 })
      else { return false }
      rest = rest[(end + 1)...]
    }
    return true
  }
}
