internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// The report of `diff`: the differences on standard output, or one JSON object (`docs/diff.schema.json`).
struct DiffReport {
  /// How two bodies differ.
  enum Difference {
    case json(JSONDifference)
    /// The lines of a unified difference.
    case text([UInt8])
    case binary
    /// At least one is too large to be compared here.
    case large
    /// Texts that differ, but no `diff` program is installed.
    case unshown
  }

  let line: DeliveryLine
  let isJSON: Bool
  let diagnostics: Diagnostics
  var output = OutputDescriptor.standardOutput

  /// Reports that nothing was stored to compare with.
  func first(_ fresh: DiffSide) throws(OutputError) {
    if isJSON { try write("first", stored: nil, fresh: fresh) }
    switch fresh.head.kept {
    case .yes:
      diagnostics.say("\(line.url): nothing stored yet to compare with; the fresh response has been stored")
    case .no(let reason):
      let message =
        "\(line.url): nothing is stored to compare with, and the fresh response was not stored either "
        + "(\(Words.unkept(reason)))"
      diagnostics.say(diagnostics.advised(message, reason == .readOnly ? .writableStore : nil))
    }
  }

  /// Reports that no fresh response could be had.
  func failed(_ error: DataServiceError, stored: DiffSide?) throws(OutputError) {
    diagnostics.say(error, of: line)
    if isJSON { try write("failure", stored: stored, fresh: nil, error: error) }
  }

  /// Reports the comparison of both responses: of their statuses, and of their bodies as `difference` says.
  func compared(_ stored: DiffSide, _ fresh: DiffSide, _ difference: Difference?) throws(OutputError) {
    let isOtherStatus = stored.head.status != fresh.head.status
    let isSame = difference == nil && !isOtherStatus
    // Otherwise the same difference would be found again and again, and nobody would know why.
    if !isSame, case .no(let reason) = fresh.head.kept, reason != .elsewhere {
      diagnostics.say(
        "\(line.url): the fresh response was not stored (\(Words.unkept(reason))): the next run compares with what is "
          + "stored now")
    }
    if isJSON {
      return try write(isSame ? "same" : "different", stored: stored, fresh: fresh, difference)
    }
    if isOtherStatus { try say("status \(stored.head.status) → \(fresh.head.status)\n") }
    switch difference {
    case nil: return
    case .json(let difference): try write(coloured(difference.lines.joined(separator: "\n") + "\n"))
    case .text(let bytes):
      if diagnostics.terminal.isOutput {
        try write(coloured(String(decoding: bytes, as: UTF8.self)))
      } else {
        try output.write(bytes)
      }
    case .binary: try say("binary bodies differ: \(sizes(stored, fresh))\n")
    case .large: try say("large bodies differ: \(sizes(stored, fresh))\n")
    case .unshown:
      try say("text bodies differ: \(sizes(stored, fresh))\n")
      diagnostics.say("there is no program diff to show how they differ; install diffutils")
    }
  }

  private func sizes(_ stored: DiffSide, _ fresh: DiffSide) -> String {
    "\(Words.size(stored.length)) → \(Words.size(fresh.length))"
  }

  private func write(_ text: String) throws(OutputError) { try output.write(text) }

  /// Writes words of the report's own, with the marks that the locale has; what bodies hold stays as it is.
  private func say(_ text: String) throws(OutputError) { try output.write(Typography.fitting(text)) }

  // MARK: JSON

  private func write(
    _ result: String, stored: DiffSide?, fresh: DiffSide?, _ difference: Difference? = nil,
    error: DataServiceError? = nil
  ) throws(OutputError) {
    var json = JSONWriter()
    json.member("url", line.url)
    json.member("method", line.method)
    json.member("result", result)
    if let stored { json.member("stored", json: side(stored, isStored: true)) }
    if let fresh { json.member("fresh", json: side(fresh, isStored: false)) }
    switch difference {
    case .json(let difference):
      json.member("changes", objects: difference.changes.map(object))
      if difference.omitted > 0 { json.member("changes_omitted", difference.omitted) }
    case .text(let bytes): json.member("text", String(decoding: bytes, as: UTF8.self))
    case nil, .binary, .large, .unshown: break
    }
    if let error { json.member("error", json: DeliveryLine.error(error)) }
    try output.write(json.line())
  }

  private func side(_ side: DiffSide, isStored: Bool) -> [UInt8] {
    var json = JSONWriter()
    json.member("status", side.head.status)
    if isStored {
      json.member("stored_at", Timestamp.text(milliseconds: side.head.receivedAtMilliseconds))
    } else {
      json.member(side.head.kept)
    }
    if let length = side.head.bodyLength { json.member("body_bytes", length) }
    return json.object()
  }

  private func object(_ change: JSONDifference.Change) -> [UInt8] {
    var json = JSONWriter()
    json.member("path", change.path)
    if let old = change.old { json.member("old", json: JSONDifference.bytes(old)) }
    if let new = change.new { json.member("new", json: JSONDifference.bytes(new)) }
    return json.object()
  }

  /// Removed lines red, added ones green, on a terminal that has colours.
  private func coloured(_ text: String) -> String {
    guard diagnostics.terminal.isOutput else { return text }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let safe = lines.map(TerminalText.visible)
    guard diagnostics.terminal.hasColour else { return safe.joined(separator: "\n") }
    return safe.map { line in
      let colour: String? =
        line.hasPrefix("-") ? "31" : line.hasPrefix("+") ? "32" : line.hasPrefix("@") ? "36" : nil
      return colour.map { "\u{1B}[\($0)m\(line)\u{1B}[0m" } ?? line
    }.joined(separator: "\n")
  }
}

/// One of the two responses that `diff` compares.
struct DiffSide {
  typealias Response = DataService.Response<DataService.BodyStream>

  let head: DataService.ResponseHead
  /// Its body: empty where it was not read, `nil` where it is too large to be compared here.
  private(set) var body: Data? = Data()
  /// How many bytes its body has; 0 where it was not read.
  private(set) var length: Int64 = 0
  /// The largest body that is compared here, in memory; for a larger one the service's comparison counts.
  private static let largestBody = 64 << 20

  init(head: DataService.ResponseHead) { self.head = head }

  /// Whether it is meant as JSON, by its media type, or its body is an object or an array. A text such as `1.10` is
  /// JSON too, and would be the same as `1.1`.
  var isJSON: Bool {
    let type = (head.fields["Content-Type"] ?? "").prefix { $0 != ";" && $0 != " " }.lowercased()
    if type.hasSuffix("/json") || type.hasSuffix("+json") { return true }
    let first = body?.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  /// Reads the body too, if it is not too large.
  init(_ response: Response) throws(BodyError) {
    self.init(head: response.head)
    let (bytes, length) = try BodyPieces(stream: response.value).collected(limit: Self.largestBody)
    body = bytes.map { Data($0) }
    self.length = length
  }
}
