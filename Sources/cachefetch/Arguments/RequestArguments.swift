internal import CacheStore
internal import DataService
internal import FoundationEssentials

/// Makes requests of the options that shape them; the same for every verb.
struct RequestArguments {
  private let arguments: Arguments
  /// What does not depend on the URL.
  private let template: DataService.Request

  /// Reads the options, and the files they name.
  init(_ arguments: Arguments) throws(UsageError) {
    self.arguments = arguments
    let fields = try Self.fields(arguments)
    let bodies = try BodyArgument.body(
      arguments.options.compactMap { option in
        if option.name == .data || option.name == .dataBinary, case .text(let text) = option.value {
          text
        } else {
          nil
        }
      })
    var request = DataService.Request(
      Self.placeholder, method: .get, fields: fields, body: bodies.map { Data($0) })
    request.method = try Self.method(arguments, hasBody: bodies != nil)
    if bodies != nil, !fields.contains("Content-Type") {
      request.fields.append("Content-Type", "application/x-www-form-urlencoded")
    }
    request.account = arguments.text(.account).map { .named($0) } ?? .automatic
    request.key = arguments.text(.key)
    request.isRead = arguments.has(.read)
    request.keepsAnyway = arguments.has(.keepAnyway)
    request.tags =
      arguments.verb == .get || arguments.verb == .watch || arguments.verb == .preload
      ? arguments.texts(.tag) : []
    request.isPinned = arguments.has(.pin)
    request.onlineWait = arguments.duration(.waitOnline)
    if arguments.has(.ignorePath) { request.changeRule = .json(ignoring: try Self.pointers(arguments)) }
    Self.setLimits(of: &request, arguments)
    try Self.setConnection(of: &request, arguments)
    template = request
  }

  /// The request for one URL.
  func request(for text: String) throws(UsageError) -> DataService.Request {
    var request = template
    request.url = try URLArgument.parse(text)
    return request
  }

  /// The requests for the operands.
  func requests() throws(UsageError) -> [DataService.Request] {
    var requests: [DataService.Request] = []
    for operand in arguments.operands { requests.append(try request(for: operand)) }
    return requests
  }

  /// Stands in the template until ``request(for:)`` puts the real one there.
  private static let placeholder = URL(string: "http:") ?? URL(filePath: "/")

  private static func fields(_ arguments: Arguments) throws(UsageError) -> HTTPFields {
    var fields = HTTPFields()
    for text in arguments.texts(.header) { try FieldArgument.append(text, to: &fields) }
    if let user = arguments.text(.user) {
      if fields.contains("Authorization") {
        throw UsageError("-u and -H 'Authorization: …' exclude each other", "give one of them")
      }
      fields.append("Authorization", try FieldArgument.basicCredentials(user))
    }
    return fields
  }

  private static func method(_ arguments: Arguments, hasBody: Bool) throws(UsageError) -> RequestMethod {
    if arguments.has(.head) {
      if arguments.has(.method) || hasBody {
        throw UsageError("-I is the method HEAD and has no body", "leave -X and -d out")
      }
      return .head
    }
    guard let method = arguments.text(.method) else { return hasBody ? .post : .get }
    guard method.utf8.allSatisfy(\.isTokenByte) else {
      throw UsageError(
        "the method “\(TerminalText.visible(method))” is not a token",
        "write one such as GET, POST, PUT, PATCH or DELETE")
    }
    guard method != "CONNECT" else {
      throw UsageError(
        "the method CONNECT makes a tunnel, not a request", "write another method; -x names a proxy")
    }
    let known = ["get", "head", "post", "put", "patch", "delete", "options"]
    if known.contains(method) {
      throw UsageError(
        "the method “\(method)” is in lower case, and methods are case-sensitive",
        "write -X \(method.uppercased())")
    }
    return RequestMethod(rawValue: method)
  }

  private static func pointers(_ arguments: Arguments) throws(UsageError) -> [String] {
    let pointers = arguments.texts(.ignorePath)
    for pointer in pointers where !pointer.isEmpty && !pointer.hasPrefix("/") {
      throw UsageError(
        "--ignore-path “\(TerminalText.visible(pointer))” is not a JSON Pointer", "write it as /name/0/name")
    }
    return pointers
  }

  private static func setLimits(of request: inout DataService.Request, _ arguments: Arguments) {
    if let size = arguments.size(.maxBody) { request.limits.bodyBytes = size }
    if let duration = arguments.duration(.connectTimeout) { request.limits.connectTimeout = duration }
    if let duration = arguments.duration(.timeout) { request.limits.totalTimeout = duration }
    if let count = arguments.count(.retry) { request.limits.retries = count }
    if arguments.has(.noLocation) { request.limits.redirects = 0 }
  }

  private static func setConnection(of request: inout DataService.Request, _ arguments: Arguments)
    throws(UsageError)
  {
    request.connection.isInsecure = arguments.has(.insecure)
    request.connection.unixSocket = arguments.text(.unixSocket)
    request.connection.proxy = arguments.text(.proxy)
    request.connection.certificateAuthorityFile = arguments.text(.cacert)
    request.connection.clientCertificateFile = arguments.text(.cert)
    request.connection.clientKeyFile = arguments.text(.keyFile)
    request.connection.isHTTP11Only = arguments.has(.http11)
    request.connection.isCompressed = !arguments.has(.noCompressed)
    for text in arguments.texts(.resolve) {
      request.connection.resolutions.append(try ResolveArgument.parse(text))
    }
    for name in [OptionName.cacert, .cert, .keyFile] {
      if let path = arguments.text(name), !InputFile.isReadable(path) {
        throw UsageError(
          "--\(name.rawValue) “\(TerminalText.visible(path))” cannot be read", "name a PEM file that can")
      }
    }
  }
}

/// `--resolve HOST:PORT:ADDRESS`.
enum ResolveArgument {
  /// The resolution `text` says; an IPv6 address may stand in brackets.
  static func parse(_ text: String) throws(UsageError) -> ConnectionOptions.Resolution {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, let port = Int(parts[1]), (1...65535).contains(port),
      !parts[2].isEmpty
    else {
      throw UsageError(
        "--resolve “\(TerminalText.visible(text))” is not complete", "write --resolve HOST:PORT:ADDRESS")
    }
    let bracketed = parts[2].hasPrefix("[") && parts[2].hasSuffix("]")
    let address = bracketed ? parts[2].dropFirst().dropLast() : parts[2]
    return ConnectionOptions.Resolution(host: String(parts[0]), port: port, address: String(address))
  }
}
