internal import CCurl
internal import DataService

/// libcurl's handles of one connection without HTTP. Accessed on the tier's thread only.
///
/// It has a multi handle of its own. In a multi handle with exchanges, libcurl may close an idle connection
/// on which bytes arrive, as an answer does.
final class RawHandle: RawCarrier {
  private let endpoint: RawEndpoint
  private let library: CurlLibrary
  private let multi: UnsafeMutableRawPointer
  private let easy: UnsafeMutableRawPointer
  private let errorText: UnsafeMutablePointer<CChar>
  /// The most that is handed to TLS at once: one record, which must be offered unchanged until it is taken.
  private static let recordSize = 16 << 10

  /// Makes the handles and begins to connect.
  /// - Throws: `other` where libcurl takes no more handles, or does not take an option.
  init(_ endpoint: RawEndpoint, library: CurlLibrary) throws(DataServiceError) {
    guard let multi = ccurl_multi_init(library.table) else { throw Self.noHandle }
    guard let easy = ccurl_easy_init(library.table) else {
      _ = ccurl_multi_cleanup(library.table, multi)
      throw Self.noHandle
    }
    (self.endpoint, self.library, self.multi, self.easy) = (endpoint, library, multi, easy)
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    try set(endpoint)
    guard ccurl_multi_add(library.table, multi, easy) == CURLM_OK else { throw Self.noHandle }
  }

  deinit {
    _ = ccurl_multi_remove(library.table, multi, easy)
    ccurl_easy_cleanup(library.table, easy)
    _ = ccurl_multi_cleanup(library.table, multi)
    errorText.deallocate()
  }

  private(set) var descriptor: Int32 = -1

  var mayHoldBytes: Bool { true }

  private static var noHandle: DataServiceError { .notMade("libcurl could not make a connection") }

  private func set(_ endpoint: RawEndpoint) throws(DataServiceError) {
    let scheme = endpoint.isSecure ? "https" : "http"
    // A proxy of the environment would be for HTTP.
    try set(CURLOPT_PROXY, "")
    try set(
      CURLOPT_URL,
      endpoint.unixSocket == nil ? "\(scheme)://\(endpoint.authority)/" : "\(scheme)://localhost/")
    try set(CURLOPT_CONNECT_ONLY, 1)
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_PROTOCOLS, Int(CURLPROTO_HTTP | CURLPROTO_HTTPS))
    try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    // The protocol has no ALPN name.
    try set(CURLOPT_SSL_ENABLE_ALPN, 0)
    try set(CURLOPT_SSL_VERIFYPEER, 1)
    try set(CURLOPT_SSL_VERIFYHOST, 2)
    if let path = endpoint.unixSocket { try set(CURLOPT_UNIX_SOCKET_PATH, path) }
    if let file = endpoint.certificateAuthorityFile {
      try set(CURLOPT_CAINFO, file)
      // The folder that libcurl was built with would be searched besides; no authority is in this one. Where
      // none is set, newer versions take their own again.
      try set(CURLOPT_CAPATH, "/dev/null")
    }
    if let file = endpoint.clientCertificateFile { try set(CURLOPT_SSLCERT, file) }
    if let file = endpoint.clientKeyFile { try set(CURLOPT_SSLKEY, file) }
    // Without a pass phrase OpenSSL asks for one on the terminal.
    if endpoint.clientCertificateFile != nil { try set(CURLOPT_KEYPASSWD, "") }
    try library.check(ccurl_set_buffer(library.table, easy, CURLOPT_ERRORBUFFER, errorText))
  }

  func connect() -> Result<Void, DataServiceError>? {
    guard ccurl_multi_perform(library.table, multi) == CURLM_OK else {
      return .failure(error(CURLE_FAILED_INIT))
    }
    var code = CURLE_OK
    guard ccurl_multi_ended(library.table, multi, &code) != nil else { return nil }
    // The transfer has ended, the connection stays as long as its handle is in the multi handle.
    if code == CURLE_OK { descriptor = ccurl_active_socket(library.table, easy) }
    return code == CURLE_OK && descriptor >= 0 ? .success(()) : .failure(error(code))
  }

  func appendDescriptors(to descriptors: inout [curl_waitfd]) -> Int32 {
    var room = [curl_waitfd](repeating: curl_waitfd(), count: 4)
    let count = ccurl_multi_descriptors(library.table, multi, &room, UInt32(room.count))
    descriptors += room.prefix(Int(count))
    // libcurl has timers of its own while it connects, such as for the second address of a host.
    return count > 0 ? 10 : 1
  }

  func send(_ block: [UInt8], from offset: Int) -> RawProgress {
    block.withUnsafeBytes { bytes in
      let limit = endpoint.isSecure ? Self.recordSize : bytes.count
      let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...].prefix(limit))
      var count = 0
      return progress(ccurl_easy_send(library.table, easy, rest.baseAddress, rest.count, &count), count)
    }
  }

  func receive(into room: UnsafeMutableRawBufferPointer) -> RawProgress {
    var count = 0
    return progress(ccurl_easy_recv(library.table, easy, room.baseAddress, room.count, &count), count)
  }

  private func progress(_ code: CURLcode, _ count: Int) -> RawProgress {
    if code == CURLE_AGAIN { return .later }
    return code == CURLE_OK && count > 0 ? .some(count) : .ended
  }

  /// Why it could not be connected.
  private func error(_ code: CURLcode) -> DataServiceError {
    let text = String(cString: errorText)
    let words = ccurl_easy_strerror(library.table, code).map { String(cString: $0) } ?? ""
    return .unconnected(
      Int32(truncatingIfNeeded: ccurl_get_long(library.table, easy, CURLINFO_OS_ERRNO)),
      host: endpoint.host, port: endpoint.port, unixSocket: endpoint.unixSocket,
      of: .init(
        code: code, text: text.isEmpty ? words : text,
        verifyResult: ccurl_get_long(library.table, easy, CURLINFO_SSL_VERIFYRESULT)))
  }

  private func set(_ option: CURLoption, _ value: Int) throws(DataServiceError) {
    try library.check(ccurl_set_long(library.table, easy, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) throws(DataServiceError) {
    try library.check(ccurl_set_string(library.table, easy, option, value))
  }
}
