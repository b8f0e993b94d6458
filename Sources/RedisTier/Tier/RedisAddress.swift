internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// Where the tier is and how it is used, as its URL says. Reading it touches no file and no network.
struct RedisAddress: Sendable, Equatable {
  /// Where the server listens.
  var endpoint = RawEndpoint(host: "", port: 6_379)
  /// The user; empty for the server's default user.
  var user = ""
  /// The number of the database.
  var database = 0
  /// The file of the fleet's keys.
  var keyFile = ""
  /// The file with the password.
  var passwordFile: String?
  /// The longest that a question may take, connecting included; a body that does not come with its answer may take
  /// eight times that. With what surrounds it, a load waits no longer than a tenth of a second for a tier that never
  /// answers.
  var patience = Duration.milliseconds(95)
  /// How long a row is kept after it was last offered.
  var keep = Duration.seconds(86_400)
  /// What may be shared.
  var terms = TierTerms()

  /// How long a row lives after it was last offered, in milliseconds; an account's key lives as long as its rows.
  var lifetime: Int64 { keep.clampedNanoseconds / 1_000_000 }

  /// The server for a person, without anything secret.
  var name: String { endpoint.name }
}

extension RedisAddress {
  /// The parameters, and the form of their values.
  private static let parameters: [(name: String, form: String)] = [
    ("key-file", "a path"), ("password-file", "a path"), ("ca-file", "a path"), ("cert-file", "a path"),
    ("cert-key-file", "a path"), ("patience", "a duration such as 100ms"), ("keep", "a duration such as 1d"),
    ("max-body", "a size such as 8M"), ("accounts", "names with commas between"),
    ("plain-http", "yes or no"), ("read-only", "yes or no"), ("db", "a number from 0 to 65535"),
  ]

  private static let grammar: Remedy =
    "a tier is named as redis://HOST:PORT/DB?key-file=PATH, rediss:// with TLS, or redis+unix:///SOCKET?key-file=PATH"

  /// Reads a URL.
  /// - Throws: `invalidRequest`, naming the part that is wrong and what it should be.
  init(_ text: String) throws(DataServiceError) {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased() else {
      throw Self.error("the tier's URL is malformed")
    }
    switch scheme {
    case "redis": break
    case "rediss": endpoint.isSecure = true
    case "redis+unix": endpoint.unixSocket = parts.path
    default: throw Self.error("the tier's URL has the scheme “\(scheme)”")
    }
    guard parts.password == nil else {
      throw Self.error(
        "the tier's URL has a password in it", "put it into a file, and name that as password-file")
    }
    user = parts.user ?? ""
    guard parts.fragment == nil else { throw Self.error("the tier's URL has a fragment") }
    try scheme == "redis+unix" ? readSocket(parts) : readHost(parts)
    try readQuery(parts)
    guard !keyFile.isEmpty else {
      throw Self.error(
        "the tier's URL has no key-file",
        "name the file with the fleet's key: what is shared is sealed with it")
    }
    guard user.isEmpty || passwordFile != nil else {
      throw Self.error("the tier's URL has a user and no password-file", "name the file with the password")
    }
    guard (endpoint.clientCertificateFile == nil) == (endpoint.clientKeyFile == nil) else {
      throw Self.error("cert-file and cert-key-file of the tier's URL need each other")
    }
    if !endpoint.isSecure {
      let files = [endpoint.certificateAuthorityFile, endpoint.clientCertificateFile]
      guard files.allSatisfy({ $0 == nil }) else {
        throw Self.error("certificates of the tier's URL need TLS", "begin the URL with rediss://")
      }
    }
  }

  private mutating func readSocket(_ parts: URLComponents) throws(DataServiceError) {
    guard parts.host ?? "" == "", parts.port == nil else {
      throw Self.error("the tier's URL has a host beside its socket", "write redis+unix:///PATH")
    }
    guard parts.path.hasPrefix("/"), parts.path.utf8.count > 1 else {
      throw Self.error("the tier's URL names no socket")
    }
    // The system's limit for the address of a socket, its end included.
    guard parts.path.utf8.count < 108, !parts.path.utf8.contains(0) else {
      throw Self.error("the tier's socket has too long a path", "at most 107 bytes")
    }
  }

  private mutating func readHost(_ parts: URLComponents) throws(DataServiceError) {
    guard let host = parts.host, !host.isEmpty, !host.utf8.contains(where: { $0 <= 0x20 }) else {
      throw Self.error("the tier's URL names no host")
    }
    endpoint.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    if let port = parts.port {
      guard (1...65_535).contains(port) else { throw Self.error("the tier's URL has the port \(port)") }
      endpoint.port = port
    }
    let path = parts.path.drop { $0 == "/" }
    if !path.isEmpty { database = try Self.number(String(path), of: "the path") }
  }

  private mutating func readQuery(_ parts: URLComponents) throws(DataServiceError) {
    var seen: Set<String> = []
    for item in parts.queryItems ?? [] {
      guard seen.insert(item.name).inserted else {
        throw Self.error("the tier's URL has \(item.name) twice")
      }
      guard let form = Self.parameters.first(where: { $0.name == item.name })?.form else {
        throw Self.unknown(item.name)
      }
      guard let value = item.value, !value.isEmpty, !value.utf8.contains(0) else {
        throw Self.error("\(item.name) of the tier's URL has no value", "it is \(form)")
      }
      guard try set(item.name, value) else {
        throw Self.error("\(item.name) of the tier's URL is “\(value)”", "it is \(form)")
      }
    }
  }

  /// - Returns: Whether the value is one of that parameter.
  private mutating func set(_ name: String, _ value: String) throws(DataServiceError) -> Bool {
    switch name {
    case "key-file": keyFile = value
    case "password-file": passwordFile = value
    case "ca-file": endpoint.certificateAuthorityFile = value
    case "cert-file": endpoint.clientCertificateFile = value
    case "cert-key-file": endpoint.clientKeyFile = value
    case "db": database = try Self.number(value, of: name)
    case "patience":
      guard let duration = Self.duration(value), duration >= .milliseconds(1), duration <= .seconds(60) else {
        return false
      }
      patience = duration
    case "keep":
      guard let duration = Self.duration(value), duration >= .seconds(1), duration <= .seconds(31_536_000)
      else { return false }
      keep = duration
    case "max-body":
      guard let size = Self.size(value), size <= 128 << 20 else { return false }
      terms.largestBody = size
    case "accounts":
      let names = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      guard names.allSatisfy({ !$0.isEmpty }) else { return false }
      terms.accounts = Set(names)
    case "plain-http": return Self.isYes(value).map { terms.sharesPlainHTTP = $0 } != nil
    case "read-only": return Self.isYes(value).map { terms.isReadOnly = $0 } != nil
    default: return false
    }
    return true
  }

  private static func isYes(_ text: String) -> Bool? { ["yes": true, "no": false][text] }

  private static func number(_ text: String, of part: String) throws(DataServiceError) -> Int {
    guard let number = Int(text), (0...65_535).contains(number), text.utf8.allSatisfy({ $0 >= 0x30 }) else {
      throw error("\(part) of the tier's URL is “\(text)”", "it is the number of a database")
    }
    return number
  }

  private static func duration(_ text: String) -> Duration? {
    let units: [(String, Duration)] = [
      ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3_600)),
      ("d", .seconds(86_400)),
    ]
    guard let unit = units.first(where: { text.hasSuffix($0.0) }),
      let count = count(text.dropLast(unit.0.count))
    else { return nil }
    return unit.1 * Int(count)
  }

  private static func size(_ text: String) -> Int64? {
    let shift = ["K": 10, "M": 20, "G": 30][text.last.map(String.init) ?? ""] ?? 0
    return count(shift == 0 ? text[...] : text.dropLast()).map { $0 << Int64(shift) }
  }

  /// A number of at most nine digits.
  private static func count(_ text: Substring) -> Int64? {
    guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int64(text)
  }

  /// For a parameter that does not exist: the one whose name is nearest.
  private static func unknown(_ name: String) -> DataServiceError {
    let all = parameters.map(\.name)
    let nearest = all.min { distance($0, name) < distance($1, name) } ?? ""
    return error(
      "the tier's URL has an unknown parameter “\(name)”",
      distance(nearest, name) <= 3
        ? "did you mean \(nearest)?" : "the parameters are \(all.joined(separator: ", "))")
  }

  /// How many letters have to be put in, left out or replaced.
  private static func distance(_ left: String, _ right: String) -> Int {
    let right = Array(right.prefix(64))
    var row = Array(0...right.count)
    for (index, letter) in left.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for (place, other) in right.enumerated() {
        let cost = letter == other ? diagonal : min(diagonal, row[place], row[place + 1]) + 1
        diagonal = row[place + 1]
        row[place + 1] = cost
      }
    }
    return row[right.count]
  }

  private static func error(_ message: String, _ hint: String? = nil) -> DataServiceError {
    DataServiceError(.invalidRequest, message, remedy: hint.map { Remedy($0) } ?? grammar)
  }
}
