internal import CCurl
import CacheStore
import PlatformFoundation

/// A libcurl easy handle, used for one exchange or, if this libcurl version is safe for that, for several in turn.
///
/// Only changed options are set again. Accessed on the network thread only.
final class EasyHandle {
  let raw: UnsafeMutableRawPointer
  let library: CurlLibrary
  /// The exchange it carries now.
  var exchange: CurlExchange?
  /// Its index in the engine's list of running handles.
  var place = 0
  /// Parses the head.
  var parser = HeadParser(byteLimit: 0, countLimit: 0)
  /// The error for which one of our callbacks stopped the transfer.
  var refusal: DataServiceError?
  /// The final head, once it has come.
  var head: HeadParser.Head?
  /// The connection that it goes over, once that is ready.
  var ends: ConnectionEnds?
  /// Whether the end of a TLS connection is the end of the body, so that its closing alert matters.
  var watchesTLSEnd = false
  /// Whether that alert has come: 1 or 0; -1 where nobody looks, or nobody knows.
  var tlsEnd: Int32 = -1
  /// Body bytes of the request that are still to be sent.
  var unsent = Data()

  private let userAgent: String
  private let errorText: UnsafeMutablePointer<CChar>
  private var lists: [UInt32: UnsafeMutablePointer<curl_slist>] = [:]
  /// Whether options were set that a reset would have to undo.
  private var isConfigured = false
  private var connection: ConnectionOptions?
  /// Where the system's authorities come from, if it is they who are trusted.
  private(set) var authorities = SystemAuthorities.bundle
  private var shape: RequestShape?
  private var fields: HTTPFields?
  private var decodes = false
  /// Whether this exchange's body is passed on in a coding that libcurl does not know.
  private var leavesCoded = false
  private var connectMilliseconds = -1
  private var isFresh = false
  private var wantsHTTP2: Bool?

  /// `nil` where libcurl cannot make one.
  init?(library: CurlLibrary, userAgent: String) {
    guard let raw = ccurl_easy_init(library.table) else { return nil }
    self.raw = raw
    self.library = library
    self.userAgent = userAgent
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    // The handle is freed first, since it uses the others.
    ccurl_easy_cleanup(library.table, raw)
    for list in lists.values { ccurl_list_free(library.table, list) }
    errorText.deallocate()
  }

  /// libcurl's message about the last failure; empty if there is none.
  var failureText: String { String(cString: errorText) }

  /// OpenSSL's verdict on the peer's certificate (`X509_V_…`).
  var verifyResult: Int { ccurl_get_long(library.table, raw, CURLINFO_SSL_VERIFYRESULT) }

  /// Prepares the handle for an exchange.
  /// - Parameters:
  ///   - fresh: Whether to avoid connections that are already open.
  ///   - authorities: Where the system's authorities come from.
  /// - Throws: `invalidRequest` or `other` where an option is refused.
  func prepare(
    _ exchange: CurlExchange, fresh: Bool, authorities: SystemAuthorities
  ) throws(DataServiceError) {
    let request = exchange.request
    self.exchange = exchange
    parser = HeadParser(byteLimit: request.limits.fieldSectionBytes, countLimit: request.limits.fieldCount)
    refusal = nil
    head = nil
    ends = nil
    watchesTLSEnd = false
    tlsEnd = -1
    errorText.pointee = 0
    unsent = request.body ?? Data()
    if connection != request.connection || authorities != self.authorities {
      try connect(as: request.connection, authorities)
    }
    try set(CURLOPT_URL, exchange.url)
    let milliseconds = Int(
      min(max(request.limits.connectTimeout.clampedNanoseconds / 1_000_000, 1), 86_400_000))
    if milliseconds != connectMilliseconds {
      try set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
      connectMilliseconds = milliseconds
    }
    if fresh != isFresh {
      try set(CURLOPT_FRESH_CONNECT, fresh ? 1 : 0)
      isFresh = fresh
    }
    let wantsHTTP2 = exchange.origin.isSecure && !request.connection.isHTTP11Only
    if wantsHTTP2 != self.wantsHTTP2 { try speak(http2: wantsHTTP2) }
    let shape = RequestShape(request)
    if shape != self.shape { try apply(shape) }
    if request.decodes != decodes {
      // The empty string requests every coding that libcurl can decode, and has it decode them.
      try library.check(
        ccurl_set_string(library.table, raw, CURLOPT_ACCEPT_ENCODING, request.decodes ? "" : nil))
      decodes = request.decodes
    }
    if leavesCoded {
      try set(CURLOPT_HTTP_CONTENT_DECODING, 1)
      leavesCoded = false
    }
    if request.fields != fields || shape.hasBody != (self.shape?.hasBody ?? false) {
      try setList(
        CURLOPT_HTTPHEADER,
        request.fields.libcurlLines(
          hasBody: shape.hasBody, asksForCoding: request.connection.isCompressed))
      fields = request.fields
    }
    self.shape = shape
  }

  /// Has the body that comes now passed on as it is.
  func leaveCoded() {
    leavesCoded = ccurl_set_long(library.table, raw, CURLOPT_HTTP_CONTENT_DECODING, 0) == CURLE_OK
  }

  /// The bytes of the body that came, before any decoding.
  var received: Int64 { Int64(ccurl_received(library.table, raw)) }

  /// Releases the exchange.
  func release() {
    exchange = nil
    head = nil
    unsent = Data()
    parser = HeadParser(byteLimit: 0, countLimit: 0)
  }

  /// Sets the options that stay the same between exchanges with the same connection options.
  func connect(
    as options: ConnectionOptions, _ authorities: SystemAuthorities
  ) throws(DataServiceError) {
    if isConfigured { ccurl_easy_reset(library.table, raw) }
    isConfigured = true
    connection = nil
    shape = nil
    fields = nil
    decodes = false
    leavesCoded = false
    connectMilliseconds = -1
    isFresh = false
    wantsHTTP2 = nil
    for list in lists.values { ccurl_list_free(library.table, list) }
    lists = [:]
    try library.check(
      ccurl_set_callbacks(library.table, raw, easyCallbacks, Unmanaged.passUnretained(self).toOpaque()))
    try library.check(ccurl_set_buffer(library.table, raw, CURLOPT_ERRORBUFFER, errorText))
    try setPlainRules()
    try setConnection(options)
    if authorities == .folder, options.trustsTheSystem {
      try library.check(ccurl_set_string(library.table, raw, CURLOPT_CAINFO, nil))
    }
    connection = options
    self.authorities = authorities
  }

  /// Sets the rules that hold for every exchange, whatever libcurl's defaults become.
  private func setPlainRules() throws(DataServiceError) {
    // Signals and alarms belong to the program; the network thread blocks SIGPIPE.
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_PROTOCOLS, Int(CURLPROTO_HTTP | CURLPROTO_HTTPS))
    // Redirects are the service's business.
    try set(CURLOPT_FOLLOWLOCATION, 0)
    // Credentials from a file would slip past the account partition.
    try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    try set(CURLOPT_HTTP09_ALLOWED, 0)
    try set(CURLOPT_PATH_AS_IS, 1)
    try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // A larger buffer speeds up large bodies; a smaller one limits how much one turn can expand.
    try set(CURLOPT_BUFFERSIZE, 32_768)
    try set(CURLOPT_USERAGENT, userAgent)
  }

  /// Whether the connection went through a proxy; `nil` where libcurl does not say (before 8.7).
  var usedProxy: Bool? {
    let used = ccurl_used_proxy(library.table, raw)
    return used < 0 ? nil : used != 0
  }

  /// The file of the client's key, where a pass phrase protects that.
  var protectedKeyFile: String? {
    guard let file = connection?.clientKeyFile ?? connection?.clientCertificateFile,
      let data = try? Data(contentsOf: URL(filePath: file)),
      data.firstRange(of: Data("ENCRYPTED".utf8)) != nil
    else { return nil }
    return file
  }

  private func setConnection(_ options: ConnectionOptions) throws(DataServiceError) {
    try set(
      CURLOPT_HTTP_VERSION, Int(options.isHTTP11Only ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
    if options.isInsecure {
      try set(CURLOPT_SSL_VERIFYPEER, 0)
      try set(CURLOPT_SSL_VERIFYHOST, 0)
    }
    if let file = options.certificateAuthorityFile { try set(CURLOPT_CAINFO, file) }
    if let folder = options.certificateAuthorityFolder { try set(CURLOPT_CAPATH, folder) }
    if let file = options.clientCertificateFile { try set(CURLOPT_SSLCERT, file) }
    if let file = options.clientKeyFile { try set(CURLOPT_SSLKEY, file) }
    // Without a pass phrase OpenSSL asks for one on the terminal. That would block the network thread and,
    // meanwhile, every signal.
    if options.clientCertificateFile != nil || options.clientKeyFile != nil {
      try set(CURLOPT_KEYPASSWD, "")
    }
    // With a Unix socket libcurl uses no proxy.
    if let path = options.unixSocket {
      try set(CURLOPT_UNIX_SOCKET_PATH, path)
      // Such connections have the same two ends, so that no look could tell which of them has input waiting.
      try set(CURLOPT_FORBID_REUSE, 1)
    } else if let proxy = options.proxy {
      try set(CURLOPT_PROXY, proxy)
    }
    if !options.resolutions.isEmpty {
      // CURLOPT_RESOLVE would apply its addresses, and share its connections, with every other exchange of the
      // engine, although the resolution is part of the key. CONNECT_TO belongs to the connection.
      try setList(CURLOPT_CONNECT_TO, options.resolutions.map(\.connectTo))
    }
  }

  /// Sets the HTTP version; HTTP/2 is used over TLS only. Exchanges that begin together then wait for one
  /// connection to share. With plain HTTP, libcurl would make them wait for the whole first answer.
  private func speak(http2: Bool) throws(DataServiceError) {
    try set(CURLOPT_HTTP_VERSION, Int(http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
    try set(CURLOPT_PIPEWAIT, http2 ? 1 : 0)
    wantsHTTP2 = http2
  }

  private func apply(_ shape: RequestShape) throws(DataServiceError) {
    switch shape {
    case .get, .bare:
      try set(CURLOPT_HTTPGET, 1)
    case .head:
      try set(CURLOPT_NOBODY, 1)
    case .body(_, let count):
      try set(CURLOPT_HTTPGET, 1)
      try set(CURLOPT_POST, 1)
      try library.check(
        ccurl_set_offset(library.table, raw, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(count)))
    }
    try library.check(ccurl_set_string(library.table, raw, CURLOPT_CUSTOMREQUEST, shape.customMethod))
  }

  private func setList(_ option: CURLoption, _ lines: [String]) throws(DataServiceError) {
    try setList(option, lines.map { Array($0.utf8) })
  }

  private func setList(_ option: CURLoption, _ lines: [[UInt8]]) throws(DataServiceError) {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines {
      let extended = (line + [0]).withUnsafeBufferPointer { bytes in
        bytes.withMemoryRebound(to: CChar.self) { ccurl_list_append(library.table, list, $0.baseAddress) }
      }
      guard let extended else {
        ccurl_list_free(library.table, list)
        throw DataServiceError(.other, "out of memory")
      }
      list = extended
    }
    let code = ccurl_set_list(library.table, raw, option, list)
    if let old = lists.updateValueOrRemove(list, forKey: option.rawValue) {
      ccurl_list_free(library.table, old)
    }
    try library.check(code)
  }

  private func set(_ option: CURLoption, _ value: Int) throws(DataServiceError) {
    try library.check(ccurl_set_long(library.table, raw, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) throws(DataServiceError) {
    guard !value.utf8.contains(0) else {
      throw DataServiceError(.invalidRequest, "an option of the connection has a NUL in it")
    }
    try library.check(ccurl_set_string(library.table, raw, option, value))
  }
}

extension [UInt32: UnsafeMutablePointer<curl_slist>] {
  fileprivate mutating func updateValueOrRemove(
    _ value: UnsafeMutablePointer<curl_slist>?, forKey key: UInt32
  ) -> UnsafeMutablePointer<curl_slist>? {
    let old = self[key]
    self[key] = value
    return old
  }
}

extension ConnectionOptions.Resolution {
  /// `HOST:PORT:ADDRESS:PORT`, IPv6 addresses in brackets.
  fileprivate var connectTo: String {
    func bracketed(_ text: String) -> String {
      text.contains(":") && !text.hasPrefix("[") ? "[\(text)]" : text
    }
    return "\(bracketed(host)):\(port):\(bracketed(address)):\(port)"
  }
}
