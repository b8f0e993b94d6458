internal import CacheStore
internal import DataService
internal import FoundationEssentials

/// Writes heads and bodies to standard output: exact in a pipe, made legible and harmless on a terminal.
struct BodyPrinter {
  /// Whether standard output is a terminal and was not insisted on with `-o -`.
  var isTerminal = false
  var hasColour = false
  /// Told why a body is not shown.
  var diagnostics = Diagnostics()

  private let output = OutputDescriptor.standardOutput
  /// The largest JSON document that is indented and coloured.
  private static let largestDocument = 4 << 20

  init(isTerminal: Bool, hasColour: Bool, diagnostics: Diagnostics) {
    self.isTerminal = isTerminal
    self.hasColour = hasColour
    self.diagnostics = diagnostics
  }

  /// Writes a head.
  func printHead(_ bytes: [UInt8]) throws(OutputError) {
    try output.write(isTerminal ? TerminalText.body(bytes) : bytes)
  }

  /// Writes a body.
  func printBody(_ response: DataService.Response<DataService.BodyStream>) throws(BodyError) {
    let pieces = BodyPieces(stream: response.value)
    guard isTerminal else {
      return try pieces.forEach { piece throws(OutputError) in try output.write(piece) }
    }
    if response.value.length ?? .max <= Self.largestDocument {
      let (bytes, _) = try pieces.collected(limit: Self.largestDocument)
      if let bytes { return try show(bytes, type: response.fields["Content-Type"]) }
    }
    try showPieces(pieces)
  }

  private func show(_ bytes: [UInt8], type: String?) throws(BodyError) {
    if Self.isBinary(bytes[...], isWhole: true) { return refuse(Int64(bytes.count)) }
    let first = bytes.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    var shown: [UInt8]?
    if type?.contains("json") ?? false || first == 0x7B || first == 0x5B {
      shown = JSONText.pretty(bytes, hasColour: hasColour)
    }
    try write(shown ?? Self.endingLine(TerminalText.body(bytes)))
  }

  /// A long body, piece by piece; a character cut in two by a border is shown byte by byte.
  private func showPieces(_ pieces: BodyPieces) throws(BodyError) {
    var isFirst = true
    var isRefused = false
    try pieces.forEach { piece throws(OutputError) in
      if isFirst { isRefused = Self.isBinary([UInt8](piece)[...], isWhole: false) }
      isFirst = false
      if !isRefused { try output.write(TerminalText.body(piece)) }
    }
    if isRefused { refuse(pieces.stream.length) }
  }

  private func refuse(_ length: Int64?) {
    diagnostics.say(
      "a binary body\(length.map { " of \(Words.size($0))" } ?? "") is not written to a terminal; write -o FILE, or -o - to insist"
    )
  }

  private func write(_ bytes: [UInt8]) throws(BodyError) {
    do { try output.write(bytes) } catch { throw .output(error) }
  }

  /// Text has no NUL in it and is, but for a character cut off at the end, nearly all UTF-8.
  static func isBinary(_ bytes: ArraySlice<UInt8>, isWhole: Bool) -> Bool {
    let sample = bytes.prefix(8192)
    if sample.contains(0) { return true }
    if String(validating: sample, as: UTF8.self) != nil { return false }
    // Text in an older encoding has a few bytes outside ASCII; what is compressed or encoded has them everywhere.
    let foreign = sample.count { $0 >= 0x80 || ($0 < 0x20 && ![0x09, 0x0A, 0x0D, 0x1B].contains($0)) }
    return foreign * 4 > sample.count
  }

  private static func endingLine(_ bytes: [UInt8]) -> [UInt8] {
    bytes.isEmpty || bytes.last == 0x0A ? bytes : bytes + [0x0A]
  }
}
