internal import DataService
internal import PlatformFoundation

/// What a client asks for: a line of JSON, as `docs/serve.schema.json` describes it.
struct ServeRequest: Sendable {
  let request: DataService.Request
  let policy: FetchPolicy
  /// Whether a command hands its exchange over, which has delivered what is stored.
  let isHandedOver: Bool
  private let line: DeliveryLine
  /// Whether a body that is in the store is left there.
  private let leavesStoredBody: Bool

  /// The members that are options of `get`, and those of `limits`.
  static let options: [(name: String, option: OptionName)] = [
    ("method", .method), ("read", .read), ("policy", .policy), ("max_age", .maxAge), ("deadline", .deadline),
    ("max_stale", .maxStale), ("account", .account), ("tags", .tag), ("pin", .pin), ("accept", .accept),
    ("ignore_paths", .ignorePath), ("keep_anyway", .keepAnyway), ("no_location", .noLocation),
  ]
  static let limits: [(name: String, option: OptionName)] = [
    ("connect_timeout", .connectTimeout), ("timeout", .timeout), ("retry", .retry), ("max_body", .maxBody),
  ]
  private static let others = ["url", "fields", "body_base64", "key", "limits", "body", "road", "trust"]

  /// Reads a line, for a process on these terms.
  init(_ bytes: ArraySlice<UInt8>, on terms: ServeTerms) throws(UsageError) {
    let members = try Self.object(
      JSONReader.read(Data(bytes), limit: 20_000).value, "the line", Self.options.map(\.name) + Self.others)
    func text(_ name: String) throws(UsageError) -> String? {
      guard let member = members[name] else { return nil }
      guard case .string(let text) = member, !text.isEmpty else { throw Self.misfit("“\(name)” is no text") }
      return text
    }
    let (road, trust) = (try text("road"), try text("trust"))
    isHandedOver = road != nil || trust != nil
    if isHandedOver, road != terms.road || trust != terms.trust {
      throw UsageError("this process has another road, or other authorities", "ask without it")
    }
    guard let url = try text("url") else { throw Self.misfit("“url” is missing") }
    if members["policy"] != nil, members["max_age"] ?? members["deadline"] != nil {
      throw Self.misfit("“policy” cannot be combined with “max_age” and “deadline”")
    }
    let limits = try Self.object(members["limits"] ?? .object([:]), "“limits”", Self.limits.map(\.name))
    let options = try Self.given(Self.options, members) + Self.given(Self.limits, limits)
    let arguments = Arguments(verb: .get, options: terms.options + options, operands: [url])
    var request = try RequestArguments(arguments).request(for: url)
    request.fields = try Self.fields(members["fields"])
    request.key = try text("key")
    request.isCounted = !isHandedOver
    if let body = try text("body_base64") {
      request.body = Data(base64Encoded: body)
      guard request.body != nil else { throw Self.misfit("“body_base64” is not in base64") }
    }
    guard [.get, .head].contains(request.method) || request.isRead else {
      throw UsageError(
        "a request that may change something is not taken", "write \"read\": true if it only reads")
    }
    leavesStoredBody = try text("body") != nil
    if leavesStoredBody, members["body"] != .string("store") { throw Self.misfit("“body” is not “store”") }
    let policy = PolicyChoice.chosen(arguments).fetchPolicy
    self.policy = isHandedOver && policy != .freshOnly ? .storedThenFresh.again(ifOlderThan: .zero) : policy
    self.request = request
    line = DeliveryLine(url: url, request: request)
  }

  private static func misfit(_ message: String) -> UsageError {
    UsageError(message, "docs/serve.schema.json describes the line")
  }

  private static func object(
    _ value: JSONValue?, _ what: String, _ names: [String]
  ) throws(UsageError) -> [String: JSONValue] {
    guard case .object(let members)? = value else { throw misfit("\(what) is no JSON object") }
    if let name = members.keys.filter({ !names.contains($0) }).min() {
      throw misfit("\(what) has no member “\(TerminalText.visible(name))”")
    }
    return members
  }

  /// Options as a command line would have them.
  private static func given(
    _ table: [(name: String, option: OptionName)], _ members: [String: JSONValue]
  ) throws(UsageError) -> [Arguments.Given] {
    var given: [Arguments.Given] = []
    for (name, option) in table {
      guard let member = members[name] else { continue }
      let row = Option.row(option)
      if row.value == nil {
        guard case .boolean(let isGiven) = member else { throw misfit("“\(name)” is not true or false") }
        if isGiven { given.append(.init(name: option, value: .flag, text: nil)) }
        continue
      }
      var values = [member]
      if row.repeats {
        guard case .array(let elements) = member else { throw misfit("“\(name)” is no array") }
        values = elements
      }
      for value in values {
        guard let text = value.text else { throw misfit("“\(name)” is no text") }
        given.append(.init(name: option, value: try OptionValue(text, for: row), text: text))
      }
    }
    return given
  }

  private static func fields(_ value: JSONValue?) throws(UsageError) -> HTTPFields {
    var fields = HTTPFields()
    guard case .array(let pairs) = value ?? .array([]) else { throw misfit("“fields” is no array") }
    for pair in pairs {
      guard case .array(let texts) = pair, texts.count == 2, let name = texts[0].text,
        let value = texts[1].text
      else { throw misfit("“fields” has what is no pair of texts") }
      fields.append(name, value)
    }
    if let refused = fields.refused { throw misfit(TerminalText.visible(refused)) }
    return fields
  }

  /// Hands over the line of each delivery, in order.
  func write(_ deliveries: AsyncStream<LoadSource.Delivery>, to take: @Sendable ([UInt8]) -> Void) async {
    var trouble: DataServiceError?
    for await delivery in deliveries {
      do throws(DataServiceError) {
        take(line.bytes(delivery, body: try await body(of: delivery)))
        trouble = nil
      } catch {
        trouble = error
      }
      guard case .stored = delivery else { break }
    }
    // A stored body that cannot be read is a miss where another delivery follows.
    if let trouble { take(line.bytes(LoadSource.Delivery.failure(trouble, lastKnown: nil), body: .none)) }
  }

  private func body(of delivery: LoadSource.Delivery) async throws(DataServiceError) -> DeliveryLine.Body {
    guard let response = delivery.response, request.method != .head else { return .none }
    let length = response.value.length ?? 0
    if leavesStoredBody && response.kept == .yes || length > DeliveryLine.largestBody {
      return .omitted(length)
    }
    var (bytes, count) = ([UInt8](), Int64(0))
    while let piece = try await response.value.next() {
      count += Int64(piece.count)
      if count <= DeliveryLine.largestBody { bytes += piece } else { bytes = [] }
    }
    return count <= DeliveryLine.largestBody ? .bytes(bytes) : .omitted(count)
  }
}

extension JSONValue {
  /// The text of a string or a number.
  var text: String? {
    switch self {
    case .string(let text): text
    case .number(let number): number.text
    default: nil
    }
  }
}
