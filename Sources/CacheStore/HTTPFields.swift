/// The fields (headers) of a message: ordered, repeatable, names compared without case (RFC 9110 section 5).
///
/// The bytes are kept exactly as received, one `Name: value` per line, and delivered unchanged. A value is read as
/// UTF-8 where it is valid UTF-8 and as ISO 8859-1 otherwise.
///
/// A name that is not a token, and a value with a line break or NUL, are refused, because they would become another
/// field on the wire. ``refused`` names the first such field, and a request that carries one fails with a clear error
/// instead of being sent without it.
public struct HTTPFields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  /// One field: its name as received and its value without surrounding white space.
  public struct Field: Sendable, Hashable {
    /// The name as received.
    public let name: String
    /// The value, without leading and trailing white space.
    public let value: String
    /// Makes a field; nothing is validated until it is appended.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The fields as sent on the wire: `Name: value` and CR LF for each, without the closing empty line.
  package private(set) var wire: [UInt8]
  /// The first field that was refused, described for an error message; `nil` where none was.
  public private(set) var refused: String?

  /// No fields.
  public init() { wire = [] }

  /// Fields from `wire` bytes this type made earlier; lines end in CR LF.
  package init(wire: [UInt8]) { self.wire = wire }

  /// Fields from pairs of name and value.
  public init(dictionaryLiteral elements: (String, String)...) {
    wire = []
    for (name, value) in elements { append(name, value) }
  }

  /// Whether there is no field.
  public var isEmpty: Bool { wire.isEmpty }

  /// Adds a field at the end; an invalid field is not added and is described by ``refused``.
  public mutating func append(_ name: String, _ value: String) {
    var (name, value) = (name, value)
    name.withUTF8 { name in value.withUTF8 { append(name: name, value: $0) } }
  }

  /// Adds a field given as bytes, as ``append(_:_:)-(String,_)`` does.
  package mutating func append(name: [UInt8], value: [UInt8]) {
    name.withUnsafeBufferPointer { name in value.withUnsafeBufferPointer { append(name: name, value: $0) } }
  }

  private mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
    let value = value.trimmedOfFieldWhitespace
    guard !name.isEmpty, name.allSatisfy(\.isTokenByte) else {
      refused = refused ?? "header name “\(String(decoding: name, as: UTF8.self))” is not a token"
      return
    }
    guard !value.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else {
      refused =
        refused
        ?? "the value of header “\(String(decoding: name, as: UTF8.self))” has a line break or NUL in it"
      return
    }
    wire.append(contentsOf: name)
    wire.append(0x3A)
    wire.append(0x20)
    wire.append(contentsOf: value)
    wire.append(0x0D)
    wire.append(0x0A)
  }

  /// The value of the first field of that name, or `nil`. Setting replaces every field of that name.
  public subscript(name: String) -> String? {
    get { first(named: name) { $0.valueString } }
    set {
      remove(name)
      if let newValue { append(name, newValue) }
    }
  }

  private func first(named name: String, _ read: (FieldLine) -> String) -> String? {
    var found: String?
    forEachLine(named: name) { line in
      found = read(line)
      return false
    }
    return found
  }

  /// Every value of that name, in order.
  public func values(of name: String) -> [String] { values(of: name) { $0.valueString } }

  private func values(of name: String, _ read: (FieldLine) -> String) -> [String] {
    var found: [String] = []
    forEachLine(named: name) { line in
      found.append(read(line))
      return true
    }
    return found
  }

  /// The values as texts that differ wherever their bytes do, for whatever compares, digests or sends back a value: two
  /// values of different bytes may read the same.
  package struct Exact {
    fileprivate let fields: HTTPFields

    /// The value of the first field of that name, or `nil`.
    package subscript(name: String) -> String? { fields.first(named: name) { $0.exactString } }
    /// Every value of that name, in order.
    package func values(of name: String) -> [String] { fields.values(of: name) { $0.exactString } }
    /// All fields, in order.
    package var all: [Field] { fields.all { $0.exactString } }

    /// The bytes that a text stands for.
    package static func bytes(_ text: String) -> [UInt8] {
      guard text.unicodeScalars.contains(where: \.standsForByte) else { return Array(text.utf8) }
      return text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }
  }

  /// The fields, read byte for byte.
  package var exact: Exact { Exact(fields: self) }

  /// Adds a field at the end with a value that ``exact`` gave.
  package mutating func append(_ name: String, exact value: String) {
    guard value.utf8.contains(where: { $0 >= 0x80 }) else { return append(name, value) }
    append(name: Array(name.utf8), value: Exact.bytes(value))
  }

  /// The values of that name joined by a comma and a space (RFC 9110 section 5.3), or `nil` where there is none.
  public func combined(_ name: String) -> String? {
    let all = values(of: name)
    return all.isEmpty ? nil : all.count == 1 ? all[0] : all.joined(separator: ", ")
  }

  /// Whether a field of that name is present.
  public func contains(_ name: String) -> Bool {
    var found = false
    forEachLine(named: name) { _ in
      found = true
      return false
    }
    return found
  }

  /// Whether a value of that name contains these letters, given in lower case, in any case. Cheaper than parsing the
  /// value, so that a caller parses only where it must.
  package func contains(_ name: String, mentioning letters: StaticString) -> Bool {
    var found = false
    forEachLine(named: name) { line in
      found = line.value.containsIgnoringCase(letters)
      return !found
    }
    return found
  }

  /// Removes every field of that name.
  public mutating func remove(_ name: String) {
    guard contains(name) else { return }
    var name = name
    name.withUTF8 { name in removeAll(whereName: { $0.equalsIgnoringCase(name) }) }
  }

  /// Removes the fields whose name satisfies the condition.
  public mutating func removeAll(where condition: (_ name: String) -> Bool) {
    removeAll(whereName: { condition(String(decoding: $0, as: UTF8.self)) })
  }

  /// Removes the fields of either set of names.
  package mutating func removeAll(in names: FieldNames, or others: FieldNames = []) {
    removeAll(whereName: { names.contains($0) || others.contains($0) })
  }

  private mutating func removeAll(whereName condition: (UnsafeBufferPointer<UInt8>) -> Bool) {
    var kept: [UInt8] = []
    kept.reserveCapacity(wire.count)
    forEachLine { line in
      if !condition(line.name) { kept.append(contentsOf: line.whole) }
      return true
    }
    if kept.count != wire.count { wire = kept }
  }

  /// Adds all fields of another section at the end.
  public mutating func append(contentsOf other: HTTPFields) {
    wire.append(contentsOf: other.wire)
    refused = refused ?? other.refused
  }

  /// All fields, in order.
  public var all: [Field] { all { $0.valueString } }

  private func all(_ read: (FieldLine) -> String) -> [Field] {
    var fields: [Field] = []
    forEachLine { line in
      fields.append(Field(name: line.nameString, value: read(line)))
      return true
    }
    return fields
  }

  /// Calls `body` for each line until it returns `false`.
  private func forEachLine(_ body: (FieldLine) -> Bool) {
    wire.withUnsafeBufferPointer { bytes in
      var rest = bytes
      while !rest.isEmpty {
        let next = rest.offset(of: 0x0A).map { $0 + 1 } ?? rest.count
        if let line = FieldLine(.init(rebasing: rest[..<next])), !body(line) { return }
        rest = .init(rebasing: rest[next...])
      }
    }
  }

  /// Calls `body` for each line of that name until it returns `false`.
  private func forEachLine(named name: String, _ body: (FieldLine) -> Bool) {
    guard !wire.isEmpty else { return }
    var name = name
    name.withUTF8 { name in
      forEachLine { line in line.name.equalsIgnoringCase(name) ? body(line) : true }
    }
  }
}

/// One line of a field section, as slices that are valid as long as the buffer they point to.
struct FieldLine {
  let whole: UnsafeBufferPointer<UInt8>
  let name: UnsafeBufferPointer<UInt8>
  private let colon: Int

  /// The field, as a value of its own.
  var field: HTTPFields.Field { .init(name: nameString, value: valueString) }

  fileprivate var nameString: String { String(decoding: name, as: UTF8.self) }

  init?(_ line: UnsafeBufferPointer<UInt8>) {
    guard let colon = line.offset(of: 0x3A) else { return nil }
    whole = line
    self.colon = colon
    name = .init(rebasing: line[..<colon])
  }

  var value: UnsafeBufferPointer<UInt8> {
    var start = colon + 1
    var end = whole.count
    while start < end, whole[start].isFieldWhitespace { start += 1 }
    while end > start, whole[end - 1].isFieldWhitespace || whole[end - 1] == 0x0D || whole[end - 1] == 0x0A {
      end -= 1
    }
    return .init(rebasing: whole[start..<end])
  }

  fileprivate var valueString: String {
    let value = value
    if value.allSatisfy({ $0 < 0x80 }) { return String(decoding: value, as: UTF8.self) }
    return String(validating: value, as: UTF8.self)
      ?? String(String.UnicodeScalarView(value.map { Unicode.Scalar($0) }))
  }

  /// The value as UTF-8 where it is valid, otherwise with a scalar of Unicode's last block in place of each byte outside
  /// ASCII. A valid value that has such scalars itself is read in the second way, so that no two values share a text.
  fileprivate var exactString: String {
    let value = value
    if value.allSatisfy({ $0 < 0x80 }) { return String(decoding: value, as: UTF8.self) }
    if let text = String(validating: value, as: UTF8.self),
      !text.unicodeScalars.contains(where: \.standsForByte)
    {
      return text
    }
    return String(String.UnicodeScalarView(value.map(Unicode.Scalar.init(standingFor:))))
  }
}

extension Unicode.Scalar {
  fileprivate var standsForByte: Bool { value >= 0x10FF80 }

  fileprivate init(standingFor byte: UInt8) {
    self = byte < 0x80 ? Self(byte) : Self(0x10FF00 | UInt32(byte)) ?? "\u{FFFD}"
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate var trimmedOfFieldWhitespace: Self {
    var (start, end) = (0, count)
    while start < end, self[start].isFieldWhitespace { start += 1 }
    while end > start, self[end - 1].isFieldWhitespace { end -= 1 }
    return Self(rebasing: self[start..<end])
  }
}

extension UInt8 {
  fileprivate var isFieldWhitespace: Bool { self == 0x20 || self == 0x09 }

  /// Whether the byte may stand in a token (RFC 9110 section 5.6.2).
  package var isTokenByte: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
    default: false
    }
  }
}

/// The fields in wire order. Each step reads one line.
extension HTTPFields: Collection {
  /// The position of a field.
  public struct Index: Sendable, Hashable, Comparable {
    /// The offset of its line, in bytes.
    let offset: Int

    /// Whether the first position precedes the second.
    public static func < (first: Index, second: Index) -> Bool { first.offset < second.offset }
  }

  /// The first field.
  public var startIndex: Index { Index(offset: lineOfField(from: 0)) }

  /// The position after the last field.
  public var endIndex: Index { Index(offset: wire.count) }

  /// The position of the next field.
  public func index(after index: Index) -> Index {
    Index(offset: lineOfField(from: lineEnd(from: index.offset)))
  }

  /// The field at that position.
  public subscript(position: Index) -> Field {
    precondition(position.offset < wire.count, "there is no field behind the last one")
    return wire.withUnsafeBufferPointer { bytes in
      let line = FieldLine(.init(rebasing: bytes[position.offset..<lineEnd(from: position.offset)]))
      guard let line else { preconditionFailure("an index of other fields") }
      return line.field
    }
  }

  /// The offset after the line that begins at `offset`.
  private func lineEnd(from offset: Int) -> Int {
    (wire[offset...].firstIndex(of: 0x0A) ?? wire.count - 1) + 1
  }

  /// The offset of the next line that is a field; the end where there is none.
  private func lineOfField(from offset: Int) -> Int {
    var start = offset
    while start < wire.count {
      let end = lineEnd(from: start)
      if wire[start..<end].contains(0x3A) { return start }
      start = end
    }
    return wire.count
  }
}
