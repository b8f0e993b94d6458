internal import CacheStore
package import CCurl
import PlatformC

/// libcurl's report of a failed transfer, as a value, so that its translation is a pure function.
struct TransferFailure {
  /// libcurl's code.
  var code: CURLcode
  /// libcurl's message.
  var text: String
  /// `errno` of the failed system call, or 0.
  var osError: Int32 = 0
  /// OpenSSL's verdict on the peer's certificate (`X509_V_…`), or 0.
  var verifyResult = 0
  /// The status of a proxy's answer to CONNECT, or 0.
  var connectStatus = 0
  /// Whether the final head had arrived.
  var hasHead = false
  /// Whether the head named a content coding.
  var isEncoded = false
  /// The host of the URL.
  var host: String
  /// The port, by default the scheme's own.
  var port = 0
  /// Whether the caller named the proxy, if there is one; else the environment did.
  var isProxyGiven = false
  /// Whether the caller or the environment names a proxy; `no_proxy` may still exempt the host.
  var mayUseProxy = true
  /// Whether the connection went through a proxy; `nil` where libcurl does not say (before 8.7).
  var usedProxy: Bool?
  /// The unix socket connected to in place of the host.
  var unixSocket: String?
  /// Whether the caller gave another address for the host.
  var isResolved = false
  /// Whether the process has no descriptors left, which libcurl reports as a network failure.
  var areDescriptorsUsedUp = false
  /// The file of the client's key, where a pass phrase protects that.
  var protectedKeyFile: String?
}

/// libcurl's code and message, as the cause of a ``DataServiceError``.
package struct CurlError: Error, Hashable, CustomStringConvertible {
  /// The value of `CURLcode`.
  package let code: Int
  /// libcurl's message.
  package let text: String
  /// The code and the message.
  package var description: String { "curl (\(code)): \(text)" }
}

extension TransferFailure {
  /// The error that callers see.
  /// - Parameter hasRoute: Whether there is any network; evaluated only if the code alone is ambiguous.
  func error(hasRoute: () -> Bool) -> DataServiceError {
    if areDescriptorsUsedUp || Descriptors.isOfDescriptors(osError) { return .tooManyOpenFiles }
    if isOfClientKey, let protectedKeyFile {
      return DataServiceError(
        .tls("clientCertificate"), "a pass phrase protects the key in \(protectedKeyFile)",
        hint: "give one without: openssl pkey -in FILE -out NEWFILE",
        underlying: CurlError(code: Int(code.rawValue), text: text))
    }
    let meaning =
      Self.meanings[isOfClientKey ? CURLE_SSL_CERTPROBLEM.rawValue : code.rawValue]
      ?? .plain(.other, "the transfer from %@ failed: \(text)", nil)
    let (kind, message, remedy) = interpret(meaning, hasRoute)
    return DataServiceError(
      kind, message.replacingPlaceholder(with: unixSocket ?? host), remedy: remedy,
      underlying: CurlError(code: Int(code.rawValue), text: text))
  }

  /// The error where a socket of our own could not be connected, which libcurl knows nothing of.
  func connectError(hasRoute: () -> Bool) -> DataServiceError {
    if Descriptors.isOfDescriptors(osError) { return .tooManyOpenFiles }
    let (kind, message, remedy) = unconnected(hasRoute)
    return DataServiceError(
      kind, message.replacingPlaceholder(with: unixSocket ?? host), remedy: remedy)
  }

  /// Whether the client's certificate or key could not be used. From 8.16 on a key that OpenSSL does not take has the
  /// code that otherwise means a malformed head.
  var isOfClientKey: Bool {
    code == CURLE_SSL_CERTPROBLEM
      || code == CURLE_BAD_FUNCTION_ARGUMENT && text.hasPrefix("unable to set private key")
  }

  /// Codes that may also mean that no file, socket or thread was available.
  static func mayBeOfDescriptors(_ code: CURLcode) -> Bool {
    [
      CURLE_FAILED_INIT, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
      CURLE_OUT_OF_MEMORY, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE,
      CURLE_PEER_FAILED_VERIFICATION, CURLE_BAD_FUNCTION_ARGUMENT,
    ].contains(code)
  }

  /// The meaning of a code; `%@` stands for the host.
  enum Meaning {
    case plain(DataServiceError.Kind, String, Remedy?)
    /// No address for the host.
    case unresolved
    /// No connection; the system's error gives the reason.
    case unconnected
    /// The connection broke; the meaning depends on whether the head had arrived.
    case broken
    /// A piece of the body was not taken.
    case untaken
    /// The peer's certificate was not accepted.
    case unverified
    /// Out of memory; before 8.6 also what `tooLarge` means.
    case outOfMemory
    /// Something outgrew a limit of libcurl's own: a line of a head 100 KiB, or a decoded body that waits 64 MiB.
    case tooLarge
  }

  /// Maps libcurl's codes to kinds, messages and remedies. Codes of disabled protocols are missing.
  static let meanings: [UInt32: Meaning] = Dictionary(
    rows.map { ($0.0.rawValue, $0.1) }, uniquingKeysWith: { first, _ in first })

  private static let tlsRemedy: Remedy =
    "the address may be wrong, or something between here and the server interferes"

  private static let unreadableCoding = "%@ sent a body in a coding that cannot be read"

  private static let rows: [(CURLcode, Meaning)] = [
    (CURLE_UNSUPPORTED_PROTOCOL, .plain(.protocol, "%@ did not answer with HTTP/1 or HTTP/2", nil)),
    (CURLE_FAILED_INIT, .plain(.other, "libcurl could not be initialised", nil)),
    (CURLE_URL_MALFORMAT, .plain(.invalidRequest, "the URL is malformed", nil)),
    (CURLE_NOT_BUILT_IN, .plain(.other, "the installed libcurl was built without this option", nil)),
    (
      CURLE_COULDNT_RESOLVE_PROXY,
      .plain(.proxy, "the proxy's name was not found", "check the proxy's name")
    ),
    (CURLE_COULDNT_RESOLVE_HOST, .unresolved),
    (CURLE_COULDNT_CONNECT, .unconnected),
    (CURLE_WEIRD_SERVER_REPLY, .plain(.protocol, "the headers of the response from %@ are malformed", nil)),
    (CURLE_HTTP2, .plain(.protocol, "%@ broke the rules of HTTP/2", nil)),
    (CURLE_PARTIAL_FILE, .broken),
    (CURLE_WRITE_ERROR, .untaken),
    (CURLE_UPLOAD_FAILED, .broken),
    (CURLE_READ_ERROR, .plain(.other, "the request's body could not be read", nil)),
    (CURLE_OUT_OF_MEMORY, .outOfMemory),
    // Options are checked when they are set, so during a transfer this code means a head that libcurl cannot parse.
    (
      CURLE_BAD_FUNCTION_ARGUMENT,
      .plain(.protocol, "the headers of the response from %@ are malformed", nil)
    ),
    (CURLE_OPERATION_TIMEDOUT, .plain(.timeout(.connect), "%@ did not answer in time", nil)),
    (
      CURLE_SSL_CONNECT_ERROR,
      .plain(.tls("handshake"), "no secure connection to %@ could be made", tlsRemedy)
    ),
    (CURLE_ABORTED_BY_CALLBACK, .plain(.cancelled, "the exchange was cancelled", nil)),
    (CURLE_GOT_NOTHING, .broken),
    (CURLE_SSL_ENGINE_NOTFOUND, .plain(.tls("library"), "the TLS library could not be set up", nil)),
    (CURLE_SSL_ENGINE_SETFAILED, .plain(.tls("library"), "the TLS library could not be set up", nil)),
    (CURLE_SEND_ERROR, .broken),
    (CURLE_RECV_ERROR, .broken),
    (
      CURLE_SSL_CERTPROBLEM,
      .plain(
        .tls("clientCertificate"), "the client certificate or its key could not be used",
        "check the files given for the certificate and the key")
    ),
    (CURLE_SSL_CIPHER, .plain(.tls("handshake"), "%@ and this machine have no cipher in common", nil)),
    (CURLE_PEER_FAILED_VERIFICATION, .unverified),
    (CURLE_BAD_CONTENT_ENCODING, .plain(.protocol, unreadableCoding, .asSent)),
    (CURLE_FILESIZE_EXCEEDED, .plain(.tooLarge, "the response from %@ is too large", nil)),
    (CURLE_SEND_FAIL_REWIND, .broken),
    (CURLE_SSL_ENGINE_INITFAILED, .plain(.tls("library"), "the TLS library could not be set up", nil)),
    (
      CURLE_SSL_CACERT_BADFILE,
      .plain(
        .tls("authorities"), "the file of certificate authorities could not be read",
        "check the file given, here or in the environment, or install the system's (package ca-certificates)"
      )
    ),
    (CURLE_SSL_SHUTDOWN_FAILED, .broken),
    (
      CURLE_SSL_CRL_BADFILE, .plain(.tls("authorities"), "the certificate revocation list is unusable", nil)
    ),
    (
      CURLE_SSL_ISSUER_ERROR,
      .plain(.tls("untrusted"), "the issuer of the certificate of %@ is wrong", tlsRemedy)
    ),
    (
      CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      .plain(.tls("untrusted"), "the key of %@ is not the pinned one", tlsRemedy)
    ),
    (CURLE_SSL_INVALIDCERTSTATUS, .plain(.tls("revoked"), "the certificate of %@ has a bad status", nil)),
    (CURLE_HTTP2_STREAM, .broken),
    (CURLE_PROXY, .plain(.proxy, "the proxy did not do its part", "check the proxy's address and kind")),
    (
      CURLE_SSL_CLIENTCERT,
      .plain(
        .tls("clientCertificate"), "%@ wants a client certificate",
        .clientCertificate)
    ),
    (CURLE_UNRECOVERABLE_POLL, .plain(.other, "waiting for the network failed", nil)),
    // CURLE_TOO_LARGE, which the headers have from 8.6 on.
    (CURLcode(rawValue: 100), .tooLarge),
  ]

  private typealias Interpretation = (kind: DataServiceError.Kind, message: String, remedy: Remedy?)

  private func interpret(_ meaning: Meaning, _ hasRoute: () -> Bool) -> Interpretation {
    switch meaning {
    case .plain(let kind, let message, let remedy): (kind, message, remedy)
    case .unresolved: unresolved(hasRoute)
    case .unconnected: unconnected(hasRoute)
    case .broken: broken()
    case .untaken: untaken()
    case .outOfMemory where !hasHead, .tooLarge where !hasHead:
      (.protocol, "a header in the response from %@ is too large", nil)
    // libcurl buffers at most 64 MiB of decoded bytes while the reader is slow.
    case .outOfMemory where isEncoded, .tooLarge:
      (.tooLarge, "the response from %@ expands to more than can be kept", nil)
    case .outOfMemory: (.other, "out of memory", nil)
    case .unverified:
      CertificateVerdict(verifyResult).map { (.tls($0.reason), $0.message, $0.remedy) } ?? wrongHost
    }
  }

  private var wrongHost: Interpretation {
    (.tls("wrongHost"), "the certificate that answered for %@ is another host's", Self.tlsRemedy)
  }

  private static let offline: Interpretation = (.offline, "there is no network", "check the connection")

  private static let routeRemedy: Remedy = "check the address, the network and any proxy"

  private func unresolved(_ hasRoute: () -> Bool) -> Interpretation {
    guard hasRoute() else { return Self.offline }
    return (.dns, "the name %@ was not found", "check the spelling, or the network's name server")
  }

  /// Whether the unreachable host was a proxy. Which hosts go past the environment's proxy only libcurl knows. Before
  /// 8.7, which says whether there was one, its message is the only evidence:
  /// `Failed to connect to HOST port PORT after 1 ms: …`.
  private var failedAtProxy: Bool {
    if let usedProxy { return usedProxy }
    let prefix = "Failed to connect to "
    guard mayUseProxy, !isResolved, unixSocket == nil, text.hasPrefix(prefix) else { return false }
    let words = text.dropFirst(prefix.count).split(separator: " ", maxSplits: 3)
    guard let peer = words.first, HostForm(String(peer)) == HostForm(host) else { return true }
    guard words.count > 2, words[1] == "port", let peerPort = Int(words[2]), port != 0 else { return false }
    return peerPort != port
  }

  /// A hint where the proxy is configured.
  private var proxyHint: String {
    isProxyGiven
      ? "check the proxy's address"
      : "check the proxy's address, which the environment names (http_proxy, https_proxy or all_proxy)"
  }

  private func unconnected(_ hasRoute: () -> Bool) -> Interpretation {
    let unsupported = "Unsupported proxy scheme for '"
    if text.hasPrefix(unsupported) {
      // The text after it may contain credentials.
      let scheme = text.dropFirst(unsupported.count).prefix { $0.isLetter || $0.isNumber }
      return (
        .proxy, "the proxy on the way to %@ has the scheme “\(scheme)”, which is not supported",
        "\(proxyHint); it begins with http, https, socks5h, socks5, socks4a or socks4"
      )
    }
    if connectStatus >= 300 { return refusedByProxy }
    if failedAtProxy {
      return (.proxy, "the proxy on the way to %@ could not be reached", Remedy(proxyHint))
    }
    switch osError {
    case ECONNREFUSED where unixSocket == nil:
      return (.refused, "%@ refused the connection", "the server may be down, or the port may be wrong")
    case ECONNREFUSED: return (.refused, "nothing listens on the socket %@", nil)
    case ENOENT where unixSocket != nil: return (.unreachable, "there is no socket %@", "check the path")
    case ENETUNREACH, ENETDOWN, EADDRNOTAVAIL:
      return hasRoute() ? (.unreachable, "no route to %@", Self.routeRemedy) : Self.offline
    case ETIMEDOUT: return (.timeout(.connect), "%@ did not answer in time", nil)
    case EACCES, EPERM: return (.unreachable, "a rule of this machine forbids the way to %@", nil)
    default: return (.unreachable, "no route to %@", Self.routeRemedy)
    }
  }

  private var refusedByProxy: Interpretation {
    (
      .proxy, "the proxy answered \(connectStatus) when asked for %@",
      "check the proxy and its credentials"
    )
  }

  private func untaken() -> Interpretation {
    // Where a callback of ours takes nothing, the exchange has an error or an end of its own. What is left is the
    // decoder, which finds bytes behind the end of the coding.
    if hasHead, isEncoded { return (.protocol, Self.unreadableCoding, .asSent) }
    return (.other, "the response from %@ could not be taken", nil)
  }

  private func broken() -> Interpretation {
    // Only libcurl's messages distinguish these errors: the first are of 7.x, the others of 8.x.
    if ["chunked-encoding", "chunk hex-length", "invalid chunk size"].contains(where: text.contains) {
      return (.protocol, "the response from %@ has a malformed chunk", nil)
    }
    if connectStatus >= 300 || text.contains("CONNECT tunnel") { return refusedByProxy }
    return hasHead
      ? (
        .truncated, "the response from %@ was cut off",
        "try again; where the server allows it, the download goes on where it stopped"
      )
      : (.disconnected, "%@ closed the connection without a response", "try again, or check the port")
  }
}

extension String {
  fileprivate func replacingPlaceholder(with text: String) -> String {
    guard let at = firstIndex(of: "%"), self[at...].hasPrefix("%@") else { return self }
    return self[..<at] + text + self[index(at, offsetBy: 2)...]
  }
}

/// What libcurl says of a connection that it could not make.
package struct CurlReport {
  let code: CURLcode
  let text: String
  let verifyResult: Int

  /// A report with libcurl's words, and OpenSSL's verdict on the peer's certificate.
  package init(code: CURLcode, text: String, verifyResult: Int) {
    (self.code, self.text, self.verifyResult) = (code, text, verifyResult)
  }
}

extension DataServiceError {
  /// Why a connection without HTTP could not be made: the system's error, and libcurl's report where it was libcurl's.
  package static func unconnected(
    _ osError: Int32, host: String, port: Int, unixSocket: String?, of report: CurlReport? = nil
  ) -> DataServiceError {
    var failure = TransferFailure(
      code: report?.code ?? CURLE_COULDNT_CONNECT, text: report?.text ?? "", osError: osError,
      verifyResult: report?.verifyResult ?? 0, host: host, port: port, usedProxy: false,
      unixSocket: unixSocket)
    guard let report else { return failure.connectError { NetworkState.hasRoute } }
    failure.areDescriptorsUsedUp =
      TransferFailure.mayBeOfDescriptors(report.code) && Descriptors.areUsedUp
    return failure.error { NetworkState.hasRoute }
  }
}
