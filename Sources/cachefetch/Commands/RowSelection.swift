internal import CacheStore
internal import DataService

/// The rows that `list`, `rm` and `export` are about.
struct RowSelection {
  /// What the store can select by itself.
  var selection = EntrySelection()
  /// Only stale rows.
  var isStale = false
  /// The row's exact targets, from URLs and `--key`; `nil` for any.
  var targets: Set<String>?

  /// Reads the filters. `now` is in milliseconds since 1970-01-01 UTC.
  init(_ arguments: Arguments, now: Int64, target: (DataService.Request) throws(UsageError) -> String)
    throws(UsageError)
  {
    if let account = arguments.text(.account) { selection.accounts = [account] }
    selection.tag = arguments.text(.tag)
    if let host = arguments.text(.host) {
      selection.host = Self.host(host)
      selection.isAnyPort = !Self.namesPort(host)
    }
    if let prefix = arguments.text(.prefix) { selection.prefix = try Self.prefix(prefix) }
    if let age = arguments.duration(.olderThan) { selection.receivedBefore = now - age.milliseconds }
    if let size = arguments.size(.largerThan) { selection.minimumBytes = size + 1 }
    isStale = arguments.has(.stale)
    if arguments.texts(.tag).count > 1 {
      throw UsageError("--tag is given twice, and rows are selected by one", "run the command once for each")
    }
    var targets: Set<String> = []
    if let key = arguments.text(.key) { targets.insert("key:" + key) }
    if arguments.verb == .rm {
      for operand in arguments.operands {
        targets.insert(try target(DataService.Request(try URLArgument.parse(operand))))
      }
    }
    if !targets.isEmpty { self.targets = targets }
  }

  /// Whether everything is selected.
  var isAll: Bool { selection == .all && !isStale && targets == nil }

  /// Whether a row that the store selected is meant.
  func includes(_ entry: StoredEntry, now: Int64) -> Bool {
    if let targets, !targets.contains(entry.key.target) { return false }
    return !isStale || Freshness.isStale(stored: entry.response, now: now)
  }

  /// A host as targets have it: without a scheme's own port, in lower case.
  private static func host(_ text: String) -> String {
    let host = text.lowercased()
    return host.hasSuffix(":443") || host.hasSuffix(":80")
      ? String(host[..<(host.lastIndex(of: ":") ?? host.endIndex)]) : host
  }

  /// Whether a port stands behind the host, which may be an IPv6 address in brackets.
  private static func namesPort(_ text: String) -> Bool {
    text[(text.lastIndex(of: "]") ?? text.startIndex)...].contains(":")
  }

  private static func prefix(_ text: String) throws(UsageError) -> String {
    if text.hasPrefix("key:") || text.contains("://") { return text }
    throw UsageError(
      "--prefix “\(TerminalText.visible(text))” has no scheme",
      "did you mean \(URLArgument.proposal(for: text))?")
  }
}
