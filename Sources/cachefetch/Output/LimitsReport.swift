internal import CacheStore

/// The store's limits and their use, as `limits` shows them.
struct LimitsReport: Sendable {
  /// The limits set in the store.
  let own: StoreLimits
  /// The limits in force.
  let inForce: StoreLimits
  let use: StoreUse
  /// How many entries were removed, if limits were set.
  var removed: Int?

  /// A line for each limit, in columns.
  func text(now: Int64) -> String {
    var text = ""
    func add(_ name: String, _ limit: String?, isOwn: Bool, _ used: String) {
      let most = limit.map { "at most \($0), \(isOwn ? "set in the store" : "the default")" } ?? "no limit"
      text += "\(Columns.pad(name, to: 9))\(most); \(used)\n"
    }
    add(
      "size", inForce.maximumBytes.map(Words.size), isOwn: own.maximumBytes != nil,
      "the file has \(Words.size(use.fileBytes))")
    add(
      "entries", inForce.maximumRows.map { "\($0)" }, isOwn: own.maximumRows != nil,
      "\(use.rows) stored, \(use.pinnedRows) of them pinned")
    let oldest = use.oldestReceivedAt.map {
      "the oldest was received \(Words.age(.milliseconds(max(0, now - $0))))"
    }
    add(
      "age", inForce.maximumAge.map(Words.exactly),
      isOwn: own.maximumAge != nil, oldest ?? "nothing is stored")
    if let removed { text += "removed  \(Words.entries(removed))\n" }
    return text
  }

  /// The JSON object, on a line.
  func line() -> [UInt8] {
    var json = JSONWriter()
    if let bytes = inForce.maximumBytes { json.member("max_bytes", bytes) }
    json.member("max_bytes_set", own.maximumBytes != nil)
    if let rows = inForce.maximumRows { json.member("max_rows", rows) }
    json.member("max_rows_set", own.maximumRows != nil)
    if let age = inForce.maximumAge { json.member("max_age_ms", age.milliseconds) }
    json.member("max_age_set", own.maximumAge != nil)
    json.member("bytes", use.fileBytes)
    json.member("rows", use.rows)
    json.member("pinned_rows", use.pinnedRows)
    if let oldest = use.oldestReceivedAt { json.member("oldest_at", Timestamp.text(milliseconds: oldest)) }
    if let removed { json.member("removed", removed) }
    return json.line()
  }
}
