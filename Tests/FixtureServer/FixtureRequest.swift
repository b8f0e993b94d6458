/// One field line as received, without the white space around its value.
public struct FixtureField: Sendable, Hashable {
  /// The bytes before the colon, as received.
  public let rawName: [UInt8]
  /// The bytes after it, as received: not necessarily UTF-8.
  public let rawValue: [UInt8]

  /// The name as text; bytes that are not UTF-8 become U+FFFD.
  public var name: String { String(decoding: rawName, as: UTF8.self) }
  /// The value as text; bytes that are not UTF-8 become U+FFFD.
  public var value: String { String(decoding: rawValue, as: UTF8.self) }

  /// Builds a field from bytes.
  public init(rawName: [UInt8], rawValue: [UInt8]) {
    self.rawName = rawName
    self.rawValue = rawValue
  }

  /// Builds a field from text.
  public init(_ name: String, _ value: String) {
    self.init(rawName: Array(name.utf8), rawValue: Array(value.utf8))
  }

  func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
}

/// A complete request: the server logs and handles it after the last byte of its body.
public struct FixtureRequest: Sendable, Hashable {
  /// The method, such as `GET`.
  public let method: String
  /// The request target as sent, with its query.
  public let target: String
  /// The protocol version as sent, such as `HTTP/1.1`.
  public let version: String
  /// Every field line, in the order and spelling received.
  public let fields: [FixtureField]
  /// The body, with any chunked coding removed.
  public let body: [UInt8]
  /// Which of the server's connections carried it; the first is 1.
  public let connection: Int
  /// The request line and the field lines as received.
  public let rawHead: [UInt8]

  /// The target without its query.
  public var path: String { String(target.prefix { $0 != "?" }) }

  /// The first value of a field, whatever the spelling of its name.
  public subscript(name: String) -> String? { fields.first { $0.isNamed(name) }?.value }

  /// Every value of a field, in order.
  public func values(of name: String) -> [String] { fields.filter { $0.isNamed(name) }.map(\.value) }

  /// Whether the request carries any field that makes it conditional on a validator.
  public var isConditional: Bool { self["If-None-Match"] != nil || self["If-Modified-Since"] != nil }

  /// The body as text.
  public var bodyText: String { String(decoding: body, as: UTF8.self) }

  var asksToClose: Bool {
    let options = values(of: "Connection").joined(separator: ",").lowercased()
    return options.contains("close") || (version == "HTTP/1.0" && !options.contains("keep-alive"))
  }
}
