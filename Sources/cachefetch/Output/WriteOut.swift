internal import CacheStore
internal import DataService

/// The format of `-w`, with curl's variable names: what is printed about a load after its end.
struct WriteOut: Sendable, Equatable {
  /// A piece of the format.
  enum Part: Sendable, Equatable {
    case text(String)
    case variable(Variable)
    /// `%header{NAME}`.
    case field(String)
  }

  /// The variables; each means the same as in curl, as far as that applies to a cache.
  enum Variable: String, CaseIterable, Sendable {
    case contentType = "content_type"
    case delivery, errormsg, exitcode
    case fileName = "filename_effective"
    case httpCode = "http_code"
    case httpVersion = "http_version"
    case json, method, printed
    case fieldCount = "num_headers"
    case redirects = "num_redirects"
    case responseCode = "response_code"
    case scheme
    case bytes = "size_download"
    case stderr, stdout
    case time = "time_total"
    case url
    case responseURL = "url_effective"
    case number = "urlnum"

    /// Whether it is a number in JSON.
    fileprivate var isFigure: Bool {
      switch self {
      case .exitcode, .httpCode, .fieldCount, .redirects, .responseCode, .bytes, .time, .number: true
      default: false
      }
    }
  }

  /// What is known of a load at its end.
  struct Transfer: Sendable {
    let number: Int
    let url: String
    let method: String
    /// The newest response delivered.
    var head: DataService.ResponseHead?
    /// `stored`, `fresh` or `failure`: the last delivery.
    var delivery = ""
    var error: DataServiceError?
    /// `stored`, `fresh`, `both` or `none`: which bodies were printed.
    private(set) var printed = "none"
    /// How many bytes of body the origin sent, decoded, if they were counted.
    var received: Int64?
    private let began = ContinuousClock.now

    init(number: Int, url: String, method: String) {
      self.number = number
      self.url = url
      self.method = method
    }

    mutating func take(_ head: DataService.ResponseHead, _ delivery: String) {
      self.head = head
      self.delivery = delivery
    }

    /// Notes that a delivery's body was printed; `isAlone` where it takes the place of another, as in a file.
    mutating func note<Value>(printed delivery: DataService.Delivery<Value>, isAlone: Bool) {
      let kind = if case .stored = delivery { "stored" } else { "fresh" }
      printed = printed == "none" || printed == kind || isAlone ? kind : "both"
    }

    mutating func take(_ error: DataServiceError) {
      self.error = error
      delivery = "failure"
    }

    /// How long it has taken, in microseconds.
    fileprivate var microseconds: Int64 {
      let (seconds, attoseconds) = began.duration(to: .now).components
      return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// The bytes received from the origin in this load: 0 if the body is the stored one.
    fileprivate var bytes: Int64 {
      guard let head, !head.freshness.isStored, !head.wasValidated else { return 0 }
      return received ?? head.bodyLength ?? 0
    }
  }

  let parts: [Part]

  /// Reads the option's value; `@FILE` and `@-` name a file that holds the format; its line breaks are ignored, as in
  /// curl.
  init(argument: String) throws(UsageError) {
    guard argument.hasPrefix("@") else {
      try self.init(format: argument)
      return
    }
    let bytes = try InputFile.read(String(argument.dropFirst()), for: "-w")
    try self.init(
      format: String(decoding: bytes.filter { $0 != 0x0A && $0 != 0x0D && $0 != 0 }, as: UTF8.self))
  }

  init(format: String) throws(UsageError) {
    var parts: [Part] = []
    var text = ""
    func flush() {
      if !text.isEmpty { parts.append(.text(text)) }
      text = ""
    }
    var rest = format[...]
    while let character = rest.popFirst() {
      switch (character, rest.first) {
      case ("%", "%"):
        rest.removeFirst()
        text.append("%")
      case ("%", "{"):
        flush()
        rest.removeFirst()
        parts.append(try Self.variable(try Self.name(&rest, after: "%{")))
      case ("%", _) where rest.hasPrefix("header{"):
        flush()
        rest.removeFirst(7)
        parts.append(.field(try Self.name(&rest, after: "%header{")))
      case ("\\", let letter?):
        rest.removeFirst()
        text += Self.escapes[letter] ?? "\\\(letter)"
      default: text.append(character)
      }
    }
    flush()
    self.parts = parts
  }

  private static let escapes: [Character: String] = ["n": "\n", "t": "\t", "r": "\r"]

  private static func name(_ rest: inout Substring, after opening: String) throws(UsageError) -> String {
    guard let end = rest.firstIndex(of: "}") else {
      throw UsageError("-w: “\(opening)” has no closing }", "write %{http_code}, or %% for a percent sign")
    }
    defer { rest = rest[rest.index(after: end)...] }
    return String(rest[..<end])
  }

  private static func variable(_ name: String) throws(UsageError) -> Part {
    if let variable = Variable.allCases.first(where: { $0.rawValue == name }) { return .variable(variable) }
    throw UsageError(
      "-w: there is no variable “\(TerminalText.visible(name))”",
      "there are \(Variable.allCases.map(\.rawValue).joined(separator: ", ")) and %header{NAME}")
  }

  /// The text for a load, in the order in which it is written, and whether it goes to standard error.
  func text(
    of transfer: Transfer, exitStatus: ExitStatus, file: String?
  ) -> [(text: String, isForErrors: Bool)] {
    var texts: [(text: String, isForErrors: Bool)] = [("", false)]
    for part in parts {
      switch part {
      case .text(let text): texts[texts.count - 1].text += text
      case .field(let name): texts[texts.count - 1].text += transfer.head?.fields[name] ?? ""
      case .variable(.stderr): texts.append(("", true))
      case .variable(.stdout): texts.append(("", false))
      case .variable(let variable):
        texts[texts.count - 1].text += Self.value(of: variable, transfer, exitStatus, file: file)
      }
    }
    return texts.filter { !$0.text.isEmpty }
  }

  private static func value(
    of variable: Variable, _ transfer: Transfer, _ exitStatus: ExitStatus, file: String?
  ) -> String {
    let head = transfer.head
    // The server's word: 0 where it was asked and did not answer.
    let wasAsked = transfer.error.map { $0.kind != .paused && $0.kind != .notStored } ?? false
    let status = transfer.error?.status ?? (wasAsked ? 0 : head?.status ?? 0)
    switch variable {
    case .contentType: return head?.fields["Content-Type"] ?? ""
    case .delivery: return transfer.delivery
    case .errormsg: return transfer.error?.message ?? ""
    case .exitcode: return String(exitStatus.rawValue)
    case .fileName: return file ?? ""
    case .httpCode, .responseCode: return String(String(1000 + status).suffix(3))
    case .httpVersion: return head?.version ?? "0"
    case .json: return json(transfer, exitStatus, file: file)
    case .method: return transfer.method
    case .printed: return transfer.printed
    case .fieldCount: return String(head?.fields.all.count ?? 0)
    case .redirects: return String(head?.redirects ?? 0)
    case .scheme: return String(transfer.url.prefix { $0 != ":" })
    case .bytes: return String(transfer.bytes)
    case .stderr, .stdout: return ""
    case .time:
      let microseconds = transfer.microseconds
      let fraction = String(microseconds % 1_000_000 + 1_000_000).dropFirst()
      return "\(microseconds / 1_000_000).\(fraction)"
    case .url: return transfer.url
    case .responseURL: return head?.url ?? transfer.url
    case .number: return String(transfer.number)
    }
  }

  /// All variables in one object, as in curl: figures as numbers, missing values as `null`.
  private static func json(_ transfer: Transfer, _ exitStatus: ExitStatus, file: String?) -> String {
    var json = JSONWriter()
    for variable in Variable.allCases where ![.json, .stderr, .stdout].contains(variable) {
      let text = value(of: variable, transfer, exitStatus, file: file)
      if variable.isFigure {
        // A status is written with three digits, but JSON numbers have no leading zeros.
        let digits = text.contains(".") ? text[...] : text.drop { $0 == "0" }
        json.member(variable.rawValue, json: Array((digits.isEmpty ? "0" : digits).utf8))
      } else if text.isEmpty {
        json.member(variable.rawValue, json: Array("null".utf8))
      } else {
        json.member(variable.rawValue, text)
      }
    }
    return String(decoding: json.object(), as: UTF8.self)
  }
}
