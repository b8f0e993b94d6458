internal import CacheStore
internal import DataService

/// The rows that a verb selects.
struct RowSelection {
  /// The part of the selection that the store applies.
  var selection = EntrySelection()
  /// Only stale rows.
  var isStale = false
  /// The row's exact targets, from URLs and keys; `nil` for any.
  var targets: Set<String>?
  /// Connection options that the row's key must contain, from `-k`, `--resolve` and similar options.
  var connection: Set<KeyExtra.Part> = []
  /// The complete keys of the command line's requests, for `--exact`; `nil` for any.
  var keys: Set<RequestKey>?
  /// The requests of `--exact -H`, whose headers choose among the variants of their keys; `nil` for any variant.
  var requests: [DataService.Request]?
  /// Only these statuses.
  var status: StatusSelection?
  /// Only this media type.
  var type: TypeSelection?

  /// Reads the filters. `now` is in milliseconds since 1970-01-01 UTC.
  init(_ arguments: Arguments, now: Int64, key: (DataService.Request) throws(UsageError) -> RequestKey)
    throws(UsageError)
  {
    if let account = arguments.text(.account) { selection.accounts = [account] }
    if arguments.verb != .unmark { selection.tag = arguments.text(.tag) }
    if let host = arguments.text(.host) {
      selection.host = try Self.host(host)
      selection.isAnyPort = !Self.namesPort(host)
    }
    if let prefix = arguments.text(.prefix) { selection.prefix = try Self.prefix(prefix) }
    if arguments.text(.olderThan) == "none" {
      throw UsageError("--older-than “none” is not a duration", "write a number and a unit: 30s, 5m, 2h, 7d")
    }
    if let age = arguments.duration(.olderThan) {
      // No age is every entry, also one under way and one that a clock put into the future.
      selection.receivedBeforeMilliseconds = age == .zero ? .max : now - age.milliseconds
    }
    if let size = arguments.size(.largerThan) { selection.minimumBytes = size == .max ? .max : size + 1 }
    isStale = arguments.has(.stale)
    status = try arguments.text(.status).map { (text) throws(UsageError) in try StatusSelection(text) }
    type = try arguments.text(.type).map { (text) throws(UsageError) in try TypeSelection(text) }
    if arguments.texts(.tag).count > 1, arguments.verb != .unmark {
      throw UsageError(
        "--tag is given twice, and entries are selected by one", "run the command once for each")
    }
    targets = try Self.targets(arguments, key)
    connection = try Self.connection(arguments, key)
    if arguments.has(.exact) {
      let requests = try Self.requests(arguments)
      keys = Set(try requests.map(key))
      if arguments.has(.header) { self.requests = requests }
    } else if VerbSet.choosing.contains(VerbSet(arguments.verb)), arguments.has(.header) {
      throw UsageError("-H selects among the entries of a URL with --exact alone", "add --exact")
    }
  }

  /// Whether everything is selected.
  var isAll: Bool {
    selection == .all && !isStale && targets == nil && connection.isEmpty && status == nil && type == nil
  }

  /// Throws where nothing is selected apart from the rest: no verb that changes a store takes all of it unasked.
  func requireSome(to verb: String) throws(UsageError) {
    guard isAll else { return }
    throw UsageError(
      "nothing says what to \(verb)", "name URLs, or select entries: --older-than 0s is every entry")
  }

  /// Works on selected entries in batches, since a statement accepts a limited number of identifiers.
  /// - Returns: The sum of what the batches return.
  func inBatches(
    _ entries: [StoredEntry], _ work: (EntrySelection) async throws(DataServiceError) -> Int
  ) async throws(DataServiceError) -> Int {
    var sum = 0
    for start in stride(from: 0, to: entries.count, by: 500) {
      let batch = entries[start..<min(start + 500, entries.count)]
      var some = selection
      some.rowIDs = batch.map(\.rowID)
      // Another row may have taken the place of one that has gone since, while a person was asked for instance.
      some.targets = batch.map(\.key.target)
      sum += try await work(some)
    }
    return sum
  }

  /// Whether cut-off downloads may be meant, which have a key but neither a status nor a media type nor an age.
  var mayMeanCutOff: Bool { !isStale && status == nil && type == nil }

  /// What is meant of exchanges under way, which have neither a status nor a media type nor an age.
  var meant: EntrySelection {
    var meant = selection
    meant.targets = targets.map(Array.init) ?? (mayMeanCutOff ? nil : [])
    return meant
  }

  /// Whether what is stored under a key passes the filters that look at the key.
  func includes(_ key: RequestKey) -> Bool {
    if let targets, !targets.contains(key.target) { return false }
    if let keys, !keys.contains(key) { return false }
    return connection.isEmpty || connection.isSubset(of: Set(KeyExtra(key.extra).parts))
  }

  /// Whether a row that the store selected passes the other filters.
  func includes(_ entry: StoredEntry, now: Int64) -> Bool {
    guard includes(entry.key) else { return false }
    if let status, !status.includes(entry.response.status) { return false }
    if let type,
      !type.includes(entry.response.fields.all.last { $0.name.lowercased() == "content-type" }?.value)
    {
      return false
    }
    return !isStale || Freshness.isStale(stored: entry.response, now: now)
  }

  /// The targets from the operands, which may be `key:NAME` as `list` shows it, and from `--key`.
  private static func targets(
    _ arguments: Arguments, _ key: (DataService.Request) throws(UsageError) -> RequestKey
  ) throws(UsageError) -> Set<String>? {
    var targets: Set<String> = []
    if let own = arguments.text(.key) { targets.insert("key:" + own) }
    if VerbSet.choosing.contains(VerbSet(arguments.verb)) {
      for operand in arguments.operands {
        if ownKey(operand) != nil {
          targets.insert(operand)
        } else {
          targets.insert(try key(DataService.Request(try URLArgument.parse(operand))).target)
        }
      }
    }
    return targets.isEmpty ? nil : targets
  }

  /// The parts of a key that come from connection options.
  private static func connection(
    _ arguments: Arguments, _ key: (DataService.Request) throws(UsageError) -> RequestKey
  ) throws(UsageError) -> Set<KeyExtra.Part> {
    let given = [OptionName.insecure, .resolve, .unixSocket, .cacert, .noLocation].filter(arguments.has)
    if given.isEmpty { return [] }
    let request = try RequestArguments(arguments).request(for: placeholder)
    return Set(KeyExtra(try key(request).extra).parts.filter { $0.option.map(given.contains) ?? false })
  }

  /// Requests for the operands, with the same options.
  private static func requests(_ arguments: Arguments) throws(UsageError) -> [DataService.Request] {
    let all = try RequestArguments(arguments)
    var requests: [DataService.Request] = []
    for operand in arguments.operands {
      let own = ownKey(operand)
      var request = try all.request(for: own == nil ? operand : placeholder)
      if let own { request.key = own }
      requests.append(request)
    }
    if arguments.operands.isEmpty, arguments.has(.key) { requests.append(try all.request(for: placeholder)) }
    guard !requests.isEmpty else {
      let verb = arguments.verb.rawValue
      throw UsageError("--exact needs the URL of an entry", "write cachefetch \(verb) --exact URL")
    }
    return requests
  }

  /// Stands for the URL of a custom key. Over https every option of the key counts.
  static let placeholder = "https://localhost/"

  /// A custom key, as `list` shows it: `key:NAME`.
  static func ownKey(_ operand: String) -> String? {
    operand.hasPrefix("key:") && operand.count > 4 ? String(operand.dropFirst(4)) : nil
  }

  /// A host as it appears in targets: without the scheme's default port, in lower case and in ASCII.
  private static func host(_ text: String) throws(UsageError) -> String {
    guard !text.contains("/") else {
      throw UsageError(
        "--host “\(TerminalText.visible(Shown.url(text)))” is a URL and no host",
        "write --prefix for entries whose URL begins so, or the host alone")
    }
    let name = namesPort(text) ? text[..<(text.lastIndex(of: ":") ?? text.endIndex)] : text[...]
    let host = try URLArgument.hostInASCII(name).lowercased() + text[name.endIndex...]
    return host.hasSuffix(":443") || host.hasSuffix(":80")
      ? String(host[..<(host.lastIndex(of: ":") ?? host.endIndex)]) : host
  }

  /// Whether a port follows the host, which may be an IPv6 address in brackets.
  private static func namesPort(_ text: String) -> Bool {
    text[(text.lastIndex(of: "]") ?? text.startIndex)...].contains(":")
  }

  private static func prefix(_ text: String) throws(UsageError) -> String {
    if text.hasPrefix("key:") { return text }
    if text.contains("://") {
      let host = text.drop { $0 != ":" }.dropFirst(3).prefix { !"/?#:".contains($0) }
      return try text[..<host.startIndex] + URLArgument.hostInASCII(host) + text[host.endIndex...]
    }
    throw UsageError(
      "--prefix “\(TerminalText.visible(text))” has no scheme",
      "did you mean \(URLArgument.proposal(for: text))?")
  }
}

/// `--status`: `404`, `4xx` or `200-299`.
struct StatusSelection: Equatable {
  let range: ClosedRange<Int>

  init(_ text: String) throws(UsageError) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    let ends = parts.map { Self.number($0) }
    if text.count == 3, text.lowercased().hasSuffix("xx"), let class_ = text.first?.wholeNumberValue,
      (1...9).contains(class_)
    {
      range = class_ * 100...class_ * 100 + 99
    } else if ends.count == 1, let only = ends[0] {
      range = only...only
    } else if ends.count == 2, let first = ends[0], let last = ends[1], first <= last {
      range = first...last
    } else {
      throw UsageError(
        "--status “\(TerminalText.visible(text))” is not a status", "write one such as 404, 4xx or 200-299")
    }
  }

  func includes(_ status: Int) -> Bool { range.contains(status) }

  private static func number(_ text: Substring) -> Int? {
    guard text.count == 3, let number = Int(text), (100...999).contains(number) else { return nil }
    return number
  }
}

/// `--type`: a media type such as `text/html`, or all of a kind: `image/*`.
struct TypeSelection: Equatable {
  private let type: String
  private let subtype: String

  init(_ text: String) throws(UsageError) {
    let parts = text.lowercased().split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty, parts[0] != "*", !text.contains(";") else {
      throw UsageError(
        "--type “\(TerminalText.visible(text))” is not a media type",
        "write one such as application/json or image/*")
    }
    (type, subtype) = (String(parts[0]), String(parts[1]))
  }

  /// Whether a `Content-Type` matches, whatever its parameters.
  func includes(_ field: String?) -> Bool {
    guard let media = field?.split(separator: ";", maxSplits: 1).first else { return false }
    let parts = media.lowercased().split(separator: "/", maxSplits: 1).map {
      $0.filter { $0 != " " && $0 != "\t" }
    }
    return parts.count == 2 && parts[0] == type && (subtype == "*" || parts[1] == subtype)
  }
}
