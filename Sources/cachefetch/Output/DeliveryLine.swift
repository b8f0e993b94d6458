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
      if response.source == .tier { json.member("source", response.source.rawValue) }
    case .fresh(let response, let change):
      begin("fresh", &json)
      add(response.head, isStored: false, body, &json)
      json.member("change", change.rawValue)
      json.member("revalidated", response.wasValidated)
      addKept(response.kept, &json)
      addShared(response.sharing, &json)
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

  private func addShared(_ shared: DataService.Shared?, _ json: inout JSONWriter) {
    switch shared {
    case .yes?: json.member("shared", true)
    case .no(let reason)?:
      json.member("shared", false)
      json.member("shared_reason", reason.name)
    case nil: break
    }
  }

  private func addKept(_ kept: DataService.Kept, _ json: inout JSONWriter) {
    switch kept {
    case .yes: json.member("kept", true)
    case .no(let reason):
      json.member("kept", false)
      json.member("kept_reason", reason.name)
    }
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
