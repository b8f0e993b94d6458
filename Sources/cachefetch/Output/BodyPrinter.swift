internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// Writes heads and bodies to standard output: byte for byte to a pipe, readable and safe on a terminal.
struct BodyPrinter {
  /// Whether standard output is a terminal and `-o -` does not ask for exact bytes.
  let isTerminal: Bool
  let hasColour: Bool
  /// Reports why a body is not shown.
  let diagnostics: Diagnostics

  private let output: OutputDescriptor
  /// Whether the last output ended a line.
  private var endsLine = true
  /// The largest JSON document that is indented and coloured.
  private static let largestDocument = 4 << 20

  init(
    isTerminal: Bool, hasColour: Bool, diagnostics: Diagnostics, output: OutputDescriptor = .standardOutput
  ) {
    self.isTerminal = isTerminal
    self.hasColour = hasColour
    self.diagnostics = diagnostics
    self.output = output
  }

  /// Writes a head, on a new line.
  mutating func printHead(_ bytes: [UInt8]) throws(OutputError) {
    try endLine()
    try printText(bytes)
  }

  /// Writes other text, continuing the current line.
  mutating func printText(_ bytes: [UInt8]) throws(OutputError) {
    try write(isTerminal ? TerminalText.body(bytes) : bytes)
  }

  /// Writes a body.
  /// - Returns: The length of the body in bytes.
  @discardableResult
  mutating func printBody(_ response: DataService.Response<DataService.BodyStream>) throws(BodyError) -> Int64
  {
    let pieces = BodyPieces(stream: response.value)
    let type = response.fields["Content-Type"]
    if isTerminal, response.value.length ?? .max <= Self.largestDocument {
      let (bytes, length) = try pieces.collected(limit: Self.largestDocument)
      if let bytes {
        do { try show(bytes, type: type) } catch { throw .output(error) }
        return length
      }
    }
    return isTerminal ? try showPieces(pieces, type: type) : try writePieces(pieces)
  }

  /// Writes bytes unchanged.
  mutating func write(_ bytes: [UInt8]) throws(OutputError) {
    guard let last = bytes.last else { return }
    try output.write(bytes)
    endsLine = last == 0x0A
  }

  private mutating func endLine() throws(OutputError) {
    if !endsLine { try write([0x0A]) }
  }

  private mutating func writePieces(_ pieces: BodyPieces) throws(BodyError) -> Int64 {
    var (count, last): (Int64, UInt8?) = (0, nil)
    try pieces.forEach { piece throws(OutputError) in
      try output.write(piece)
      count += Int64(piece.count)
      last = piece.last ?? last
    }
    if let last { endsLine = last == 0x0A }
    return count
  }

  private mutating func show(_ bytes: [UInt8], type: String?) throws(OutputError) {
    let charset = Self.charset(of: bytes[...], isWhole: true, type: type)
    if Self.isBinary(bytes[...], isWhole: true, isText: charset != nil) { return refuse(Int64(bytes.count)) }
    let text = charset?.utf8(bytes) ?? bytes
    let first = text.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    var shown: [UInt8]?
    if type?.contains("json") ?? false || first == 0x7B || first == 0x5B {
      shown = JSONText.pretty(text, hasColour: hasColour)
    }
    try write(shown ?? TerminalText.body(text))
    try endLine()
  }

  /// Shows a long body piece by piece; a character split between two pieces is shown byte by byte.
  private mutating func showPieces(_ pieces: BodyPieces, type: String?) throws(BodyError) -> Int64 {
    var (count, last): (Int64, UInt8?) = (0, nil)
    var isRefused = false
    var charset: SingleByteText?
    try pieces.forEach { piece throws(OutputError) in
      if count == 0 {
        let first = [UInt8](piece)[...]
        charset = Self.charset(of: first, isWhole: false, type: type)
        isRefused = Self.isBinary(first, isWhole: false, isText: charset != nil)
      }
      count += Int64(piece.count)
      last = piece.last ?? last
      if !isRefused { try output.write(TerminalText.body(charset?.utf8(piece) ?? [UInt8](piece))) }
    }
    if isRefused {
      refuse(pieces.stream.length)
    } else if let last {
      endsLine = last == 0x0A
      do { try endLine() } catch { throw .output(error) }
    }
    return count
  }

  private func refuse(_ length: Int64?) {
    diagnostics.say(
      "a binary body\(length.map { " of \(Words.size($0))" } ?? "") is not written to a terminal; write -o FILE, or -o - to insist"
    )
  }

  /// The declared encoding, unless the text is UTF-8: many texts that declare another encoding are UTF-8.
  private static func charset(of bytes: ArraySlice<UInt8>, isWhole: Bool, type: String?) -> SingleByteText? {
    guard let charset = SingleByteText(contentType: type), !isUTF8(bytes, isWhole: isWhole) else {
      return nil
    }
    return charset
  }

  /// Whether the sample is UTF-8; its last character may be cut off.
  private static func isUTF8(_ bytes: ArraySlice<UInt8>, isWhole: Bool) -> Bool {
    let sample = bytes.prefix(sampleBytes)
    let mayBeCut = !isWhole || sample.count < bytes.count
    return (0...(mayBeCut ? 3 : 0)).contains { String(validating: sample.dropLast($0), as: UTF8.self) != nil }
  }

  /// How many bytes of a body are examined to recognise its kind.
  private static let sampleBytes = 8192

  /// Text contains no NUL and is, apart from a character cut off at the end, mostly UTF-8 or the single-byte encoding
  /// it declares (`isText`).
  static func isBinary(_ bytes: ArraySlice<UInt8>, isWhole: Bool, isText: Bool = false) -> Bool {
    let sample = bytes.prefix(sampleBytes)
    if sample.contains(0) { return true }
    if isUTF8(bytes, isWhole: isWhole) { return false }
    // Text in an older encoding has few bytes outside ASCII; compressed or encrypted data is full of them.
    let foreign = sample.count {
      ($0 >= 0x80 && !isText) || ($0 < 0x20 && ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0))
    }
    return foreign * 4 > sample.count
  }
}
