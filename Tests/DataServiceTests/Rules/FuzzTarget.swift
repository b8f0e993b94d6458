import CacheStore
@testable import DataService
import PlatformFoundation

/// What the fuzzer feeds, and the properties that have to hold of every input. The fuzzer's binary and the tests that
/// replay its corpus share this file.
enum FuzzTarget: String, CaseIterable, Sendable {
  case cacheControl = "cache-control"
  case date = "date"
  case vary = "vary"
  case fieldList = "field-list"
  case statusLine = "status-line"
  case json = "json"
  case message = "message"

  /// A description of the property that the input breaks, or `nil`.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .cacheControl: Self.checkCacheControl(Self.text(bytes))
    case .date: Self.checkDate(Self.text(bytes))
    case .vary: Self.checkVary(Self.lines(bytes))
    case .fieldList: Self.checkFieldList(Self.text(bytes))
    case .statusLine: Self.checkStatusLine(bytes)
    case .json: Self.checkJSON(bytes)
    case .message: Self.checkMessage(bytes)
    }
  }

  /// As the fields' own reading has it: UTF-8 where valid, else ISO 8859-1.
  private static func text(_ bytes: [UInt8]) -> String {
    String(validating: bytes, as: UTF8.self)
      ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  private static func lines(_ bytes: [UInt8]) -> [String] {
    bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { text(Array($0)) }
  }

  private static func checkCacheControl(_ value: String) -> String? {
    let control = CacheControl(value)
    // Without quotation marks a list is split at every comma, so that the simplest reading has to agree.
    if !value.utf8.contains(0x22) {
      let names = value.utf8.split(separator: 0x2C).map { member in
        FieldList.lowercased(FieldList.trimmed(String(member.prefix { $0 != 0x3D }) ?? ""))
      }
      if names.contains("no-store"), !control.noStore { return "no-store is not seen" }
      if control.noStore, !FieldList.lowercased(value).contains("no-store") { return "no-store is seen" }
      if names.contains("no-cache") != (control.noCache != .absent) {
        return "no-cache is \(control.noCache)"
      }
    }
    for name in ["max-age", "min-fresh", "stale-if-error", "stale-while-revalidate"] {
      guard case .value(let seconds) = control.seconds(name) else { continue }
      if seconds < 0 || seconds > DeltaSeconds.maximum { return "\(name) is \(seconds)" }
    }
    if case .fields(let names) = control.noCache, !names.allSatisfy(FieldList.isToken) {
      return "no-cache has no names"
    }
    _ = (control.maxStale, control.mustUnderstand, control.isImmutable)
    return checkFreshness(control: value)
  }

  private static func checkFreshness(control: String) -> String? {
    var fields: HTTPFields = ["Date": HTTPDate.format(784_111_777_000)]
    fields.append("Cache-Control", control)
    let lifetime = Freshness.lifetime(status: 200, fields: fields, receivedAt: 784_111_777_000)
    if lifetime.milliseconds < 0 { return "the lifetime is \(lifetime.milliseconds)" }
    if fields.contains("Cache-Control"), CacheControl(control).noStore {
      let verdict = HTTPStoring.decide(
        method: .get, requestFields: fields, status: 200, fields: fields, receivedAt: 784_111_777_000)
      if verdict != .no(.noStore) { return "no-store leads to \(verdict)" }
    }
    return nil
  }

  private static func checkDate(_ text: String) -> String? {
    for now in [nil, 784_111_777_000, Int64.min, .max] as [Int64?] {
      _ = RetryAfter.delay(text, date: text, now: now ?? 0)
      guard let instant = HTTPDate.parse(text, now: now) else { continue }
      let written = HTTPDate.format(instant)
      if (-62_167_219_200_000...253_402_300_799_000).contains(instant), HTTPDate.parse(written) != instant {
        return "\(text) is \(instant), written \(written)"
      }
    }
    return nil
  }

  private static func checkVary(_ lines: [String]) -> String? {
    var response = HTTPFields()
    response.append("Vary", lines.first ?? "")
    var request = HTTPFields()
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      request.append(String(line[..<colon]), String(line[line.index(after: colon)...]))
    }
    let names = Vary.names(in: response)
    if names != FieldList.lowercased(names)
      || names.split(separator: ",").map(String.init).sorted().joined(separator: ",") != names
    {
      return "the names are \(names)"
    }
    let variant = Vary.variant(names: names, requestFields: request) { $1 }
    let again = Vary.variant(names: names, requestFields: request) { $1 }
    if variant != again { return "one request has two variants" }
    if names == "*", !variant.isEmpty { return "Vary: * has a variant" }
    let secret = Vary.variant(names: names, requestFields: request) { _, _ in "~" }
    if secret.split(separator: "\n").contains(where: { !$0.hasSuffix(": ~") }) {
      return "a value is not protected"
    }
    return nil
  }

  private static func checkFieldList(_ value: String) -> String? {
    let members = FieldList.members(value)
    if members.contains(where: \.isEmpty) { return "an empty member" }
    // What was split cannot be split again: a quotation mark that hid a comma would have to do so twice.
    for member in members where FieldList.members(member) != [member] { return "\(member) is several" }
    _ = FieldList.unquoted(value)
    if FieldList.unquoted(FieldList.quoted(value)) != value { return "quoting \(value) is not undone" }
    for tag in EntityTag.list(value)
    where EntityTag.list("\"\(tag.opaque)\"") != [EntityTag("\"\(tag.opaque)\"")] {
      return "the tag \(tag.opaque) is not read back"
    }
    if let pointer = JSONPointer(value), pointer.tokens.isEmpty != value.isEmpty {
      return "the pointer \(pointer)"
    }
    for length in [0, 1, 11, Int64.max] {
      if case .part(let part) = ByteRange.answer(to: value, length: length),
        part.isEmpty || part.lowerBound < 0 || part.upperBound > length
      {
        return "the range \(part) of \(length) bytes"
      }
    }
    return nil
  }

  /// A step for each byte; what is read is itself, and is still read with white space around it and in another document.
  private static func checkJSON(_ bytes: [UInt8]) -> String? {
    let (value, steps) = JSONReader.read(Data(bytes))
    if steps > bytes.count { return "\(steps) steps for \(bytes.count) bytes" }
    guard let value else { return nil }
    if value != value { return "it is not itself" }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return nil }
    if JSONReader.read(Data([0x20] + bytes + [0x0A])).value != value { return "white space changes it" }
    let around = JSONReader.read(Data([0x5B] + bytes + [0x2C] + bytes + [0x5D])).value
    // One more level may be one too many.
    if let around, around != .array([value, value]) { return "it is another in an array" }
    if String(validating: bytes, as: UTF8.self) == nil { return "it is no UTF-8" }
    return nil
  }

  private static func checkStatusLine(_ bytes: [UInt8]) -> String? {
    var parser = HeadParser(byteLimit: 4096, countLimit: 32)
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      let line = Array(line) + [0x0A]
      do {
        guard let head = try line.withUnsafeBytes({ try parser.take($0) }) else {
          continue
        }
        if !(200...999).contains(head.status) { return "the final status is \(head.status)" }
        if head.interim.contains(where: { !(100...199).contains($0.status) }) { return "an interim status" }
        if let length = head.contentLength, length < 0 { return "the length is \(length)" }
        if head.fields.all.count > 32 { return "\(head.fields.all.count) fields" }
        if head.reason.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) {
          return "a reason with a break"
        }
      } catch {
        return nil
      }
    }
    return nil
  }

  /// Request fields, an empty line, response fields, through the rules of the `http` policy.
  private static func checkMessage(_ bytes: [UInt8]) -> String? {
    var request = HTTPFields()
    var response = HTTPFields()
    var isResponse = false
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      if line.isEmpty { isResponse = true }
      guard let colon = line.firstIndex(of: 0x3A) else { continue }
      let (name, value) = (Array(line[..<colon]), Array(line[(colon + 1)...]))
      if isResponse {
        response.append(name: name, value: value)
      } else {
        request.append(name: name, value: value)
      }
    }
    return FuzzMessage(request: request, response: response).violation
  }
}
