import CacheStore

/// Comma-separated lists in field values (RFC 9110 section 5.6.1).
package enum FieldList {
  /// The members of a list, without the white space around them and without empty members.
  ///
  /// Every string gives a list. A comma inside a quoted string does not separate members. A quotation mark that is
  /// never closed is an ordinary character, so it cannot hide a `no-store` behind it.
  package static func members(_ value: String) -> [String] {
    let bytes = Array(value.utf8)
    var members: [String] = []
    var start = 0
    var index = 0
    // Where one mark is never closed, every later one is escaped, and is not closed either. To look for its end each
    // time would take the square of the value's length.
    var mayClose = true
    while index < bytes.count {
      if mayClose, bytes[index] == Ascii.quote {
        guard let end = endOfQuotedString(bytes, from: index) else {
          mayClose = false
          continue
        }
        index = end
      } else if bytes[index] == Ascii.comma {
        append(bytes[start..<index], to: &members)
        index += 1
        start = index
      } else {
        index += 1
      }
    }
    append(bytes[start..<bytes.count], to: &members)
    return members
  }

  /// The text of a quoted string without its quotation marks and backslashes, or `nil` if `text` is not exactly one
  /// quoted string.
  package static func unquoted(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.first == Ascii.quote, endOfQuotedString(bytes, from: 0) == bytes.count else { return nil }
    var content: [UInt8] = []
    var index = 1
    while index < bytes.count - 1 {
      if bytes[index] == Ascii.backslash { index += 1 }
      content.append(bytes[index])
      index += 1
    }
    return String(decoding: content, as: UTF8.self)
  }

  /// The text as a quoted string (RFC 9110 section 5.6.4).
  package static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { result.unicodeScalars.append("\\") }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }

  /// The text before and after the first such byte, or `nil` if the text does not contain the byte.
  ///
  /// Splits bytes, not characters: an equals sign followed by a combining mark is a different `Character`, but the
  /// field grammar still sees an equals sign. ``isSame(_:_:)`` compares bytes for the same reason.
  package static func split(_ text: String, at byte: UInt8) -> (head: String, tail: String)? {
    guard let index = text.utf8.firstIndex(of: byte) else { return nil }
    let tail = text.utf8[text.utf8.index(after: index)...]
    return (String(decoding: text.utf8[..<index], as: UTF8.self), String(decoding: tail, as: UTF8.self))
  }

  /// Whether both texts have the same bytes. Swift's `==` also equates different encodings of one character.
  package static func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

  /// Whether the text is a token (RFC 9110 section 5.6.2).
  package static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(\.isTokenByte)
  }

  /// The text with its ASCII letters in lower case; HTTP names and keywords are ASCII.
  package static func lowercased(_ text: String) -> String {
    String(decoding: text.utf8.map(\.asciiLowercased), as: UTF8.self)
  }

  /// The text without spaces and tabs at either end.
  package static func trimmed(_ text: String) -> String {
    String(decoding: trimmed(Array(text.utf8)[...]), as: UTF8.self)
  }

  private static func append(_ bytes: ArraySlice<UInt8>, to members: inout [String]) {
    let member = trimmed(bytes)
    if !member.isEmpty { members.append(String(decoding: member, as: UTF8.self)) }
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var slice = bytes
    while let byte = slice.first, byte == Ascii.space || byte == Ascii.tab { slice.removeFirst() }
    while let byte = slice.last, byte == Ascii.space || byte == Ascii.tab { slice.removeLast() }
    return slice
  }

  /// The index after the closing mark of the quoted string that begins at `start`, or `nil` if it never ends.
  private static func endOfQuotedString(_ bytes: [UInt8], from start: Int) -> Int? {
    var index = start + 1
    while index < bytes.count {
      if bytes[index] == Ascii.quote { return index + 1 }
      index += bytes[index] == Ascii.backslash ? 2 : 1
    }
    return nil
  }
}
