internal import CacheStore
internal import DataService
internal import PlatformC
internal import PlatformFoundation

/// Makes requests from the command line's options, in the same way for every verb.
struct RequestArguments {
  private let arguments: Arguments
  /// The parts of a request that do not depend on the URL.
  private let template: DataService.Request
  /// The query `-G` adds to each URL.
  private let query: String?
  /// The file that `-n` reads.
  private let netrc: Netrc?

  /// Reads the options, and the files they name.
  init(_ arguments: Arguments) throws(UsageError) {
    self.arguments = arguments
    let fields = try Self.fields(arguments)
    let data = try BodyArgument.body(arguments)
    let isQuery = arguments.has(.asQuery)
    query = isQuery ? try data.map { data throws(UsageError) in try Self.query(data) } : nil
    netrc = try arguments.has(.netrc) && !fields.contains("Authorization") ? .ofUser() : nil
    let body = isQuery ? nil : data
    var request = DataService.Request(
      Self.placeholder, method: .get, fields: fields, body: body.map { Data($0) })
    request.method = try Self.method(arguments, hasBody: body != nil)
    if body != nil, !fields.contains("Content-Type") {
      request.fields.append("Content-Type", "application/x-www-form-urlencoded")
    }
    if VerbSet.requesting.contains(VerbSet(arguments.verb)) { try Self.checkNames(arguments) }
    request.account = arguments.text(.account).map { .named($0) } ?? .automatic
    try Self.checkKeyIsNoFile(arguments)
    request.key = arguments.text(.key)
    request.isRead = arguments.has(.read)
    request.keepsAnyway = arguments.has(.keepAnyway)
    // The verbs that select entries have a --tag of another meaning.
    request.tags = VerbSet.fetching.contains(VerbSet(arguments.verb)) ? arguments.texts(.tag) : []
    request.isPinned = arguments.has(.pin)
    request.onlineWait = arguments.duration(.waitOnline)
    request.maxStale = arguments.duration(.maxStale)
    if arguments.has(.ignorePath) { request.changeRule = .json(ignoring: try Self.pointers(arguments)) }
    request.acceptedMediaTypes = try Self.mediaTypes(arguments)
    Self.setLimits(of: &request, arguments)
    try Self.setConnection(of: &request, arguments)
    template = request
  }

  /// The request for one URL.
  func request(for text: String) throws(UsageError) -> DataService.Request {
    let text = url(text)
    return request(for: try URLArgument.parse(text), speltAs: text)
  }

  /// The request for a parsed URL.
  func request(for url: URL, speltAs text: String) -> DataService.Request {
    var request = template
    request.url = url
    request.spelling = text
    if let netrc, let host = url.host(percentEncoded: false), url.password() == nil,
      let found = netrc.credentials(for: host, user: url.user(percentEncoded: false))
    {
      request.fields.append("Authorization", FieldArgument.basic(found.login + [0x3A] + found.password))
    }
    return request
  }

  /// An operand with the query of `-G` appended.
  func url(_ operand: String) -> String {
    guard let query, !query.isEmpty else { return operand }
    let end = operand.firstIndex(of: "#") ?? operand.endIndex
    let (address, fragment) = (operand[..<end], operand[end...])
    let joint = !address.contains("?") ? "?" : address.hasSuffix("?") || address.hasSuffix("&") ? "" : "&"
    return address + joint + query + fragment
  }

  /// The data of `-G` as a query.
  private static func query(_ data: [UInt8]) throws(UsageError) -> String {
    guard data.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
      throw UsageError(
        "-G: the data have characters in them that a URL cannot have",
        "encode values with --data-urlencode, and names by hand, such as a%20b=c")
    }
    return String(decoding: data, as: UTF8.self)
  }

  /// The requests for the operands.
  func requests() throws(UsageError) -> [DataService.Request] {
    var requests: [DataService.Request] = []
    for operand in arguments.operands { requests.append(try request(for: operand)) }
    return requests
  }

  /// The template's URL until ``request(for:)`` sets the real one.
  private static let placeholder = URL(string: "http:") ?? URL(filePath: "/")

  private static func fields(_ arguments: Arguments) throws(UsageError) -> HTTPFields {
    var fields = HTTPFields()
    for text in arguments.texts(.header) { try FieldArgument.append(text, to: &fields) }
    if let user = arguments.text(.user) {
      if fields.contains("Authorization") {
        throw UsageError("-u and -H 'Authorization: …' cannot be combined", "give one of them")
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
    guard method != "HEAD" || !hasBody else {
      throw UsageError("-X HEAD: a HEAD request has no body", "leave -d out")
    }
    let known = ["get", "head", "post", "put", "patch", "delete", "options"]
    if known.contains(method) {
      throw UsageError(
        "the method “\(method)” is in lower case, and methods are case-sensitive",
        "write -X \(method.uppercased())")
    }
    return RequestMethod(rawValue: method)
  }

  /// Throws for a name that no list could show as it is: who types what is shown would name another.
  private static func checkNames(_ arguments: Arguments) throws(UsageError) {
    for option in [OptionName.account, .tag] {
      for name in arguments.texts(option) where name.unicodeScalars.contains(where: TerminalText.isUnsafe) {
        throw UsageError(
          "--\(option.rawValue) “\(TerminalText.visible(name))” has a line break or another control character in it",
          "leave it out")
      }
    }
  }

  private static func pointers(_ arguments: Arguments) throws(UsageError) -> [String] {
    let pointers = arguments.texts(.ignorePath)
    for pointer in pointers where !isPointer(pointer) {
      throw UsageError(
        "--ignore-path “\(TerminalText.visible(pointer))” is not a JSON Pointer",
        "write it as /name/0/name, with ~0 for ~ and ~1 for / in a name")
    }
    return pointers
  }

  private static func mediaTypes(_ arguments: Arguments) throws(UsageError) -> [String] {
    var types: [String] = []
    for text in arguments.texts(.accept) {
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        let type = part.filter { $0 != " " }
        guard MediaTypes.isValid(type) else {
          throw UsageError(
            "--accept “\(TerminalText.visible(String(part)))” is not a media type",
            "write one such as application/json, text/* or application/*+json")
        }
        types.append(type)
      }
    }
    return types
  }

  /// RFC 6901: empty, or starting with `/`, with `~` only before 0 and 1.
  private static func isPointer(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard let first = bytes.first else { return true }
    return first == UInt8(ascii: "/")
      && bytes.indices.allSatisfy { index in
        bytes[index] != UInt8(ascii: "~")
          || index + 1 < bytes.count && (0x30...0x31).contains(bytes[index + 1])
      }
  }

  /// Throws if several URLs would share the one stored response of `--key`.
  static func checkKey(_ arguments: Arguments, urls count: Int) throws(UsageError) {
    guard arguments.has(.key), count > 1 else { return }
    throw UsageError(
      "--key names one stored response, and \(count) URLs are given", "run cachefetch once for each")
  }

  /// Throws if `--key` seems to be curl's option of that name, which names the private key of a client certificate: one
  /// stored response would stand for every URL.
  private static func checkKeyIsNoFile(_ arguments: Arguments) throws(UsageError) {
    guard let key = arguments.text(.key) else { return }
    if InputFile.isPrivateKey(key) {
      throw UsageError(
        "--key names a stored response, and “\(TerminalText.visible(key))” is a file with a private key",
        "write --key-file for the key of a client certificate")
    }
    if arguments.has(.cert), !arguments.has(.keyFile) {
      throw UsageError(
        "--key beside --cert may be meant for the certificate, and names a stored response",
        "write --key-file for the private key; where --key is meant, give --key-file too: it may be --cert's file"
      )
    }
  }

  private static func setLimits(of request: inout DataService.Request, _ arguments: Arguments) {
    if let size = arguments.size(.maxBody) { request.limits.bodyBytes = size }
    // As with curl, 0 is no limit, or the usual one.
    if let duration = arguments.duration(.connectTimeout), duration > .zero {
      request.limits.connectTimeout = duration
    }
    if let duration = arguments.duration(.timeout), duration > .zero {
      request.limits.totalTimeout = duration
      request.limits.firstByteTimeout = max(request.limits.firstByteTimeout, duration)
    }
    if let count = arguments.count(.retry) { request.limits.retries = count }
    if arguments.has(.noLocation) { request.limits.redirects = 0 }
  }

  /// The proxy of `-x`. Messages show only its scheme, since it may contain credentials.
  private static func proxy(_ text: String?) throws(UsageError) -> String? {
    guard let text else { return nil }
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts.count == 2 ? parts[0].lowercased() : "http"
    guard ProxyFindings.schemes.contains(scheme) else {
      throw UsageError(
        "-x: the scheme “\(TerminalText.visible(scheme))” is not supported for proxies",
        "write -x http://HOST:PORT, https://HOST:PORT or socks5h://HOST:PORT")
    }
    let authority = ProxyFindings.authority(text)
    guard !authority.isEmpty, !authority.hasPrefix(":"), !text.utf8.contains(where: { $0 <= 0x20 }) else {
      throw UsageError("-x names no proxy", "write -x http://HOST:PORT")
    }
    return text
  }

  private static func setConnection(of request: inout DataService.Request, _ arguments: Arguments)
    throws(UsageError)
  {
    request.connection.isInsecure = arguments.has(.insecure)
    request.connection.unixSocket = arguments.text(.unixSocket)
    request.connection.proxy = try proxy(arguments.text(.proxy))
    request.connection.isHTTP11Only = arguments.has(.http11)
    request.connection.isCompressed = !arguments.has(.noCompressed)
    for text in arguments.texts(.resolve) {
      let resolution = try ResolveArgument.parse(text)
      let isTwice = request.connection.resolutions.contains {
        $0.host.lowercased() == resolution.host.lowercased() && $0.port == resolution.port
      }
      guard !isTwice else {
        throw UsageError(
          "--resolve “\(TerminalText.visible(text))” is for a host and port that another one is for",
          "write one HOST:PORT:ADDRESS for each")
      }
      request.connection.resolutions.append(resolution)
    }
    // Without the network, and over http, nothing reads it: then it is a mark in the key and no more.
    let isRead =
      !arguments.isOffline && VerbSet.fetching.contains(VerbSet(arguments.verb))
      && arguments.operands.contains { !$0.hasPrefix("http:") }
    request.connection.certificateAuthorityFile =
      isRead ? try pemFile(.cacert, arguments) : arguments.text(.cacert)
    request.connection.clientCertificateFile = try pemFile(.cert, arguments)
    request.connection.clientKeyFile = try pemFile(.keyFile, arguments)
    if !arguments.has(.cacert), !arguments.has(.insecure) {
      TrustVariables.apply(to: &request.connection, Environment.value)
    }
  }

  private static func pemFile(_ name: OptionName, _ arguments: Arguments) throws(UsageError) -> String? {
    guard let path = arguments.text(name) else { return nil }
    guard InputFile.isReadable(path) else {
      throw UsageError(
        "--\(name.rawValue) “\(TerminalText.visible(path))” cannot be read", "give a readable PEM file")
    }
    return try InputFile.steadyPath(path, for: "--\(name.rawValue)")
  }
}

/// `--resolve HOST:PORT:ADDRESS`.
enum ResolveArgument {
  /// Parses a resolution; an IPv6 address may be in brackets.
  static func parse(_ text: String) throws(UsageError) -> ConnectionOptions.Resolution {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, let port = Int(parts[1]), (1...65535).contains(port),
      !parts[2].isEmpty
    else {
      throw UsageError(
        "--resolve “\(TerminalText.visible(text))” is not complete", "write --resolve HOST:PORT:ADDRESS")
    }
    try checkHost(parts[0], of: text)
    return ConnectionOptions.Resolution(
      host: try URLArgument.hostInASCII(parts[0]), port: port, address: try address(parts[2]))
  }

  /// Throws for the marks that curl knows for a host: as part of a name they would match no request.
  private static func checkHost(_ host: Substring, of text: String) throws(UsageError) {
    if host == "*" {
      throw UsageError(
        "--resolve “\(TerminalText.visible(text))” is for every host, which is not supported",
        "write one HOST:PORT:ADDRESS for each host")
    }
    if host.hasPrefix("+") {
      throw UsageError(
        "--resolve “\(TerminalText.visible(text))” begins with “+”, which is not supported",
        "leave it out: an address holds for this command alone")
    }
  }

  /// The address without its brackets.
  private static func address(_ text: Substring) throws(UsageError) -> String {
    if text.contains(",") {
      throw UsageError(
        "--resolve: “\(TerminalText.visible(String(text)))” is more than one address",
        "write one HOST:PORT:ADDRESS")
    }
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let address = String(isBracketed ? text.dropFirst().dropLast() : text)
    guard isIPv6(address) || !isBracketed && isIPv4(address) else {
      throw UsageError(
        "--resolve: “\(TerminalText.visible(String(text)))” is not an address",
        "write an IPv4 address, or an IPv6 address with or without brackets")
    }
    return address
  }

  private static func isIPv4(_ text: String) -> Bool {
    var address = in_addr()
    return inet_pton(AF_INET, text, &address) == 1
  }

  /// An address of a link names its interface after `%`.
  private static func isIPv6(_ text: String) -> Bool {
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, parts.count == 1 || !parts[1].isEmpty else { return false }
    var address = in6_addr()
    return inet_pton(AF_INET6, String(first), &address) == 1
  }
}

/// The certificate authorities that the environment names, as for curl: `CURL_CA_BUNDLE`, else `SSL_CERT_DIR` and
/// `SSL_CERT_FILE`. `--cacert` and `--insecure` override them. Nothing of them is read until a server's certificate is
/// judged: what is stored is delivered whatever they name.
enum TrustVariables {
  /// - Parameter value: The value of an environment variable, `nil` if it is not set.
  static func apply(to connection: inout ConnectionOptions, _ value: (String) -> String?) {
    func path(_ name: String) -> String? { value(name).flatMap { $0.isEmpty ? nil : $0 } }
    connection.isMachineTrust = true
    connection.certificateAuthorityFile = path("CURL_CA_BUNDLE")
    guard connection.certificateAuthorityFile == nil else { return }
    connection.certificateAuthorityFile = path("SSL_CERT_FILE")
    connection.certificateAuthorityFolder = path("SSL_CERT_DIR")
  }
}
