internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// The JSON object of a delivery; `docs/delivery.schema.json` describes it.
struct DeliveryLine {
  /// The request's URL as shown.
  let url: String
  let method: String

  /// For a request to a URL as given. User information is omitted and a secret query value is `~`.
  init(url: String, request: DataService.Request) {
    self.url = Shown.url(url)
    method = request.method.rawValue
  }

  /// For a request with a custom key, as `list` shows it.
  init(key: String, request: DataService.Request) {
    url = "key:" + key
    method = request.method.rawValue
  }

  /// How the line shows the body.
  enum Body {
    case bytes([UInt8])
    /// Too large for a line, written elsewhere, or not wanted; with its length if known.
    case omitted(Int64?)
    /// There is no body.
    case none
  }

  /// The largest body in a line.
  static let largestBody = 16 << 20

  /// The line for a delivery, with its line feed.
  func bytes<Value>(_ delivery: DataService.Delivery<Value>, body: Body) -> [UInt8] {
    var json = JSONWriter()
    switch delivery {
    case .stored(let response):
      begin("stored", &json)
      add(response.head, isStored: true, body, &json)
      if response.source.isElsewhere { json.member("source", response.source.rawValue) }
    case .fresh(let response, let change):
      begin("fresh", &json)
      add(response.head, isStored: false, body, &json)
      json.member("change", change.rawValue)
      json.member("revalidated", response.wasValidated)
      json.member(response.kept)
      switch response.sharing {
      case .yes?: json.member("shared", unless: nil)
      case .no(let reason)?: json.member("shared", unless: reason.name)
      case nil: break
      }
    case .failure(let error, _):
      begin("failure", &json)
      json.member("method", method)
      if let status = error.status { json.member("status", status) }
      json.member("error", json: Self.error(error))
    }
    return json.line()
  }

  /// `{"kind","message","hint"}`.
  static func error(_ error: DataServiceError) -> [UInt8] {
    var json = JSONWriter()
    json.member("kind", error.kind.name)
    json.member("message", error.message)
    if let hint = error.advice { json.member("hint", hint) }
    return json.object()
  }

  private func begin(_ kind: String, _ json: inout JSONWriter) {
    json.member("delivery", kind)
    json.member("url", url)
  }

  private func add(_ head: DataService.ResponseHead, isStored: Bool, _ body: Body, _ json: inout JSONWriter) {
    json.member("response_url", head.url)
    json.member("method", method)
    json.member("account", head.account)
    json.member("status", head.status)
    json.member("fields", pairs: HeadText.fields(head, isStored: isStored).all.map { ($0.name, $0.value) })
    add(body, &json)
    json.member("stored_at", Timestamp.text(milliseconds: head.receivedAtMilliseconds))
    json.member("age_ms", head.age.milliseconds)
    json.member("stale", head.isStale)
    json.member("elapsed_ms", head.elapsed.milliseconds)
  }

  private func add(_ body: Body, _ json: inout JSONWriter) {
    switch body {
    case .bytes(let bytes):
      if let text = String(validating: bytes, as: UTF8.self) {
        json.member("body", text)
      } else {
        json.member("body_base64", Data(bytes).base64EncodedString())
      }
      json.member("body_bytes", bytes.count)
    case .omitted(let length):
      json.member("body_omitted", true)
      if let length { json.member("body_bytes", length) }
    case .none: break
    }
  }
}

extension JSONWriter {
  /// Whether a response is stored now, and if not, why.
  mutating func member(_ kept: DataService.Kept) {
    switch kept {
    case .yes: member("kept", unless: nil)
    case .no(let reason): member("kept", unless: reason.name)
    }
  }

  /// `true`, or `false` with the reason.
  mutating func member(_ name: String, unless reason: String?) {
    member(name, reason == nil)
    if let reason { member(name + "_reason", reason) }
  }
}

extension Duration {
  /// Whole milliseconds.
  var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}

/// Instants in the format of RFC 3339.
enum Timestamp {
  /// `2026-11-21T02:07:08.123Z`.
  static func text(milliseconds: Int64) -> String {
    // Formatting fractional seconds would round some instants down by a millisecond.
    let rest = (milliseconds % 1000 + 1000) % 1000
    let whole = Date(timeIntervalSince1970: Double((milliseconds - rest) / 1000)).formatted(
      .iso8601.year().month().day().time(includingFractionalSeconds: false).timeZone(separator: .omitted))
    return "\(whole.dropLast()).\(String(1000 + rest).dropFirst())Z"
  }
}

/// The line on a terminal's standard error that introduces a delivery: kind, status, age or time taken, size, change.
struct Heading {
  /// The URL, if several are loaded.
  var url: String?
  /// The terminal's width in columns.
  var width = 80
  var hasColour = false

  /// The line for a delivery, with its line feed.
  func line<Value>(_ delivery: DataService.Delivery<Value>) -> String {
    switch delivery {
    case .stored(let response):
      let other = response.source.isElsewhere ? ["from another machine"] : []
      let stale = other + (response.isStale ? Words.stale(response.head.fields) : [])
      return line(
        "stored", "33", [response.head.statusText, Words.age(response.age)] + size(response.head) + stale)
    case .fresh(let response, let change):
      let body = change == .unchanged ? [] : size(response.head)
      let parts =
        [response.head.statusText, "in \(Words.elapsed(response.head.elapsed))"] + body + [change.rawValue]
      return line("fresh", response.status >= 400 ? "31" : "32", parts + kept(response.head))
    case .failure(let error, let lastKnown):
      let known = lastKnown.map { ["the stored response is from \(Words.age($0.age))"] } ?? []
      // The error and its remedy are never cut off.
      return line("failure", "31", [error.message] + (error.advice.map { [$0] } ?? []) + known, isCut: false)
    }
  }

  private func size(_ head: DataService.ResponseHead) -> [String] {
    head.bodyLength.map { [Words.size($0)] } ?? []
  }

  private func kept(_ head: DataService.ResponseHead) -> [String] {
    if case .no(let reason) = head.kept { ["not kept: \(Words.unkept(reason))"] } else { [] }
  }

  private func line(_ kind: String, _ colour: String, _ parts: [String], isCut: Bool = true) -> String {
    let name = kind + String(repeating: " ", count: max(0, 8 - kind.count))
    let (text, room) = (TerminalText.visible(parts.joined(separator: " · ")), max(10, width - 9))
    var lines = isCut ? [Columns.cut(text, to: room)] : Columns.wrapped(text, to: room)
    if let url = url.map(TerminalText.visible) {
      // The URL tells the deliveries of several loads apart, so it is shown however narrow the window.
      if lines.count == 1, text.count + 3 + url.count <= room {
        lines[0] += " · " + url
      } else {
        lines.append(Columns.end(of: url, to: room))
      }
    }
    let fitting = lines.joined(separator: "\n" + Columns.pad("", to: 9))
    return hasColour ? "\u{1B}[1;\(colour)m\(name)\u{1B}[0m \(fitting)\n" : "\(name) \(fitting)\n"
  }
}
