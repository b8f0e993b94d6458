internal import CacheStore
internal import PlatformFoundation

/// A body as the report holds it.
enum ReportBody: Equatable {
  case text(String)
  /// An image, or text that is not UTF-8.
  case bytes([UInt8])
  /// Not held, and why.
  case leftOut(String)

  /// The longest body that a report holds.
  static let mostBytesEach: Int64 = 64 << 10
  /// The length of all bodies of a report.
  static let mostBytes: Int64 = 16 << 20

  static let tooLong = "The body is longer than \(Counted.bytes(mostBytesEach))."

  /// Why the body of an entry is left out unread; `nil` where it is not.
  static func reason(without entry: StoredEntry, isPublic: Bool, hasRoom: Bool) -> String? {
    if !entry.isSound { return "The entry is damaged." }
    if !isPublic { return "The body belongs to an account; with --bodies the report holds it." }
    if entry.response.body.length > mostBytesEach { return tooLong }
    return hasRoom
      ? nil : "Left out: the report holds \(Counted.bytes(mostBytes)) of bodies, those used last."
  }

  /// What is shown of a body of that media type: text, or an image.
  init(_ bytes: [UInt8], type: String) {
    let isText =
      type.hasPrefix("text/") || ["json", "xml", "javascript"].contains { type.hasSuffix($0) }
    if !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) {
      self = .text(text)
    } else if isText || type.hasPrefix("image/") {
      self = .bytes(bytes)
    } else {
      self = .leftOut("The body is binary, and no image.")
    }
  }

  var isLeftOut: Bool { if case .leftOut = self { true } else { false } }

  /// As JSON.
  var json: [UInt8] {
    var json = JSONWriter()
    switch self {
    case .text(let text): json.member("text", text)
    case .bytes(let bytes): json.member("base64", Data(bytes).base64EncodedString())
    case .leftOut(let reason): json.member("left_out", reason)
    }
    return json.object()
  }
}
