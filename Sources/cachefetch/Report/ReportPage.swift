internal import CSodium
internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// The page of `report`: `page.html` with its style, its script and its data.
///
/// The data is JSON in which no `<` is left, so that nothing in it ends the element it stands in. The policy in the page's
/// head lets the browser run that one script, use that one style sheet, and load nothing.
struct ReportPage {
  /// The entries a page holds; a browser would be slow with more.
  static let mostEntries = 50_000

  /// When the page was made, in milliseconds since 1970-01-01 UTC.
  let now: Int64
  /// The options that chose the entries.
  let chosen: String
  /// How many entries were left out.
  var leftOut = 0
  /// The counts of accounts and hosts.
  var parts: [StoreStatistics.Part] = []

  /// What the list shows of each entry.
  private var rows: [[UInt8]] = []
  /// What is shown of one entry, a line each, so that a browser parses the lines it needs.
  private var details: [UInt8] = []
  /// Texts of the details by their place in the table that is their last line: many entries share them.
  private var texts: [String: Int] = [:]
  private var table: [String] = []
  /// The accounts and hosts of the entries.
  private var places: Set<[String]> = []

  init(now: Int64, chosen: String) { (self.now, self.chosen) = (now, chosen) }

  /// The number of entries.
  var count: Int { rows.count }

  /// Whether there is an entry of an account and host.
  func holds(account: String, host: String) -> Bool { places.contains([account, host]) }

  /// Adds an entry.
  ///
  /// - Parameter siblings: The sound rows of its key, itself among them.
  mutating func add(_ entry: StoredEntry, _ siblings: [StoredResponse], _ body: ReportBody) {
    places.insert([entry.key.account, ResponseStore.host(of: entry.key.target)])
    rows.append(row(entry))
    let response = entry.response
    let explanation = entry.isSound ? explanation(of: entry, siblings) : nil
    var json = JSONWriter()
    if let url = response.responseURL { json.member("url", url) }
    json.member("changed", response.changedAt)
    json.member("fields", json: shared(response.fields.all.flatMap { [$0.name, $0.value] }))
    let verdicts = explanation?.verdicts ?? []
    json.member(
      "policies", json: shared(verdicts.flatMap { [PolicyChoice.spelling(of: $0.policy), $0.outcome] }))
    json.member(
      "terms", json: shared((explanation?.terms ?? []).flatMap { [$0.name, $0.value, $0.section] }))
    json.member("sends", json: shared(explanation?.refreshFields ?? []))
    json.member("changes", json: shared(explanation?.changes ?? []))
    json.member("body", json: body.json)
    details += json.line()
  }

  private func row(_ entry: StoredEntry) -> [UInt8] {
    let response = entry.response
    let table = EntryTable(now: now)
    var json = JSONWriter()
    json.member("target", entry.key.target)
    if entry.key.method != "GET" { json.member("method", entry.key.method) }
    if !entry.key.account.isEmpty { json.member("account", entry.key.account) }
    let options = table.options(entry).joined(separator: " ")
    if !options.isEmpty { json.member("detail", options) }
    json.member("status", response.status)
    json.member("received", response.receivedAt)
    json.member("bytes", response.body.length)
    if let used = entry.usedAtMilliseconds { json.member("used", used) }
    json.member("staleness", HTTPStaleness.staleness(of: response, now: now))
    let status = response.status == 200 ? nil : response.status
    json.member("words", table.state(of: entry, status: status).split(separator: " ").map(String.init))
    if !entry.tags.isEmpty { json.member("tags", entry.tags) }
    let type = Self.mediaType(of: entry)
    if !type.isEmpty { json.member("type", type) }
    return json.object()
  }

  /// The media type in lower case, without its parameters.
  static func mediaType(of entry: StoredEntry) -> String {
    let field = entry.response.fields["Content-Type"]?.lowercased() ?? ""
    return String(field.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" })
  }

  /// What `explain` says of the request that an entry answers.
  private func explanation(of entry: StoredEntry, _ siblings: [StoredResponse]) -> DataService.Explanation {
    // Values that the store has digested stay digests, and match.
    var fields = HTTPFields()
    for line in entry.response.variant.split(separator: "\n") {
      guard let colon = line.firstRange(of: ": ") else { continue }
      fields.append(String(line[..<colon.lowerBound]), String(line[colon.upperBound...]))
    }
    let account = entry.key.account
    var subject = Explain.Subject(
      key: entry.key, method: RequestMethod(rawValue: entry.key.method), fields: fields,
      isRead: entry.key.method != "GET", url: entry.key.target, rows: siblings, now: now)
    subject.credentials = account.isEmpty || account.hasPrefix("auto:") ? nil : Shown.secrets
    return Explain.explanation(of: subject) { _, value in value }
  }

  /// The places of texts in the table, which has each once.
  private mutating func shared(_ all: [String]) -> [UInt8] {
    var places: [String] = []
    for text in all {
      let place = texts[text] ?? table.count
      if place == table.count {
        texts[text] = place
        table.append(text)
      }
      places.append(String(place))
    }
    return Array("[\(places.joined(separator: ","))]".utf8)
  }

  /// The whole file.
  var html: [UInt8] {
    var json = JSONWriter()
    json.member("made", now)
    json.member("chosen", chosen)
    json.member("left_out", leftOut)
    json.member("parts", objects: parts.map { StatisticsText.line($0).dropLast() })
    json.member("rows", objects: rows)
    var last = JSONWriter()
    last.member("texts", table)
    let (script, style) = (PackageResources.page_js, PackageResources.page_css)
    let filled = [
      ("{policy}", Array(Self.policy(script: script, style: style).utf8)), ("{style}", style),
      ("{rows}", Self.inert(json.object())), ("{details}", Self.inert(details + last.object())),
      ("{script}", script),
    ]
    var (page, rest) = ([UInt8](), PackageResources.page_html[...])
    for (mark, content) in filled {
      guard let place = rest.firstRange(of: Array(mark.utf8)) else { continue }
      page += rest[..<place.lowerBound] + content
      rest = rest[place.upperBound...]
    }
    return page + rest
  }

  /// JSON without `<`, which is in its strings alone.
  private static func inert(_ json: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(json.count)
    for byte in json {
      if byte == UInt8(ascii: "<") { bytes += "\\u003c".utf8 } else { bytes.append(byte) }
    }
    return bytes
  }

  private static func policy(script: [UInt8], style: [UInt8]) -> String {
    "default-src 'none'; script-src \(hash(script)); style-src \(hash(style)); img-src data: blob:; "
      + "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
  }

  private static func hash(_ bytes: [UInt8]) -> String {
    var digest = [UInt8](repeating: 0, count: crypto_hash_sha256_bytes())
    crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return "'sha256-\(Data(digest).base64EncodedString())'"
  }
}
