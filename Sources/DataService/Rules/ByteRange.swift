/// One range of bytes out of a body (RFC 9110 section 14.1.2).
package enum ByteRange {
  /// The part of a body that a `Range` field selects.
  package enum Answer: Sendable, Hashable {
    /// The whole body: a server may ignore a field that is malformed, uses another unit or lists several ranges
    /// (section 14.2).
    case whole
    /// These bytes, at least one.
    case part(Range<Int64>)
    /// No byte of this body.
    case unsatisfiable
  }

  /// The part that `value` selects of a body of `length` bytes.
  package static func answer(to value: String, length: Int64) -> Answer {
    guard let (unit, list) = FieldList.split(value, at: Ascii.equals), FieldList.lowercased(unit) == "bytes"
    else {
      return .whole
    }
    let ranges = FieldList.members(list)
    guard ranges.count == 1, let (first, last) = FieldList.split(ranges[0], at: Ascii.hyphen) else {
      return .whole
    }
    return first.isEmpty ? suffix(last, length: length) : range(first, last, length: length)
  }

  /// The `Content-Range` of `part`.
  package static func contentRange(_ part: Range<Int64>, length: Int64) -> String {
    "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)"
  }

  private static func suffix(_ count: String, length: Int64) -> Answer {
    guard let count = number(count) else { return .whole }
    guard count > 0, length > 0 else { return .unsatisfiable }
    return .part(max(0, length - count)..<length)
  }

  private static func range(_ first: String, _ last: String, length: Int64) -> Answer {
    guard let first = number(first) else { return .whole }
    guard !last.isEmpty else { return first < length ? .part(first..<length) : .unsatisfiable }
    guard let last = number(last), last >= first else { return .whole }
    return first < length ? .part(first..<min(last, length - 1) + 1) : .unsatisfiable
  }

  /// The number in `text`, or `nil` unless it is all digits. A number too large for `Int64` counts as the largest.
  private static func number(_ text: String) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy(\.isAsciiDigit) else { return nil }
    return Int64(text) ?? .max
  }
}
