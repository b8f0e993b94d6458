import CCurl
import PlatformC
import Testing
import TestTurns

@testable import DataService

@Suite("From libcurl's codes to errors", .inTurn) struct TransferFailureTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var code: CURLcode
    var kind: DataServiceError.Kind
    var text = "words"
    var osError: Int32 = 0
    var verifyResult = 0
    var connectStatus = 0
    var hasHead = false
    var isEncoded = false
    var hasRoute = true
    var usedProxy: Bool?
    var unixSocket: String?
    var says = "origin.test"

    var testDescription: String { "\(code.rawValue) → \(kind.name)" }
  }

  static let rows: [Row] = [
    Row(code: CURLE_UNSUPPORTED_PROTOCOL, kind: .protocol),
    Row(code: CURLE_FAILED_INIT, kind: .other, says: "libcurl"),
    Row(code: CURLE_URL_MALFORMAT, kind: .invalidRequest, says: "malformed"),
    Row(code: CURLE_NOT_BUILT_IN, kind: .other, says: "built without"),
    Row(code: CURLE_COULDNT_RESOLVE_PROXY, kind: .proxy, says: "proxy"),
    Row(code: CURLE_COULDNT_RESOLVE_HOST, kind: .dns),
    Row(code: CURLE_COULDNT_RESOLVE_HOST, kind: .offline, hasRoute: false, says: "no network"),
    Row(code: CURLE_COULDNT_CONNECT, kind: .refused, osError: ECONNREFUSED),
    Row(code: CURLE_COULDNT_CONNECT, kind: .unreachable, osError: EHOSTUNREACH),
    Row(code: CURLE_COULDNT_CONNECT, kind: .unreachable, osError: ENETUNREACH),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .offline, osError: ENETUNREACH, hasRoute: false, says: "no network"
    ),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .offline, osError: ENETDOWN, hasRoute: false, says: "no network"),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .offline, osError: EADDRNOTAVAIL, hasRoute: false,
      says: "no network"),
    Row(code: CURLE_COULDNT_CONNECT, kind: .timeout(.connect), osError: ETIMEDOUT),
    Row(code: CURLE_COULDNT_CONNECT, kind: .unreachable, osError: EACCES),
    Row(code: CURLE_COULDNT_CONNECT, kind: .unreachable, osError: EPERM),
    Row(code: CURLE_COULDNT_CONNECT, kind: .unreachable),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .unreachable, osError: ENOENT, unixSocket: "/run/x", says: "/run/x"
    ),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .refused, osError: ECONNREFUSED, unixSocket: "/run/x",
      says: "/run/x"),
    Row(code: CURLE_COULDNT_CONNECT, kind: .proxy, connectStatus: 502, says: "502"),
    Row(code: CURLE_COULDNT_CONNECT, kind: .proxy, connectStatus: 300, says: "300"),
    Row(code: CURLE_COULDNT_CONNECT, kind: .unreachable, connectStatus: 299),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .proxy,
      text: "Failed to connect to proxy.test port 3128 after 1 ms",
      osError: ECONNREFUSED),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .refused,
      text: "Failed to connect to origin.test port 80 after 1 ms",
      osError: ECONNREFUSED),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .proxy,
      text: "Failed to connect to origin.test port 3128 after 1 ms", osError: ECONNREFUSED),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .proxy,
      text: "Unsupported proxy scheme for 'foo://alice:secret@p'", says: "“foo”"),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .proxy,
      text: "Unsupported proxy scheme for 'socks6://alice:secret@p'", says: "“socks6”"),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .refused, text: "Failed to connect to origin.test port",
      osError: ECONNREFUSED),
    // From 8.7 on libcurl says whether there was a proxy, and its message does not count.
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .refused, text: "Failed to connect to origin.test:80 after 1 ms",
      osError: ECONNREFUSED, usedProxy: false),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .proxy,
      text: "Failed to connect to origin.test port 80 via proxy.test after 1 ms",
      osError: ECONNREFUSED, usedProxy: true),
    Row(
      code: CURLE_COULDNT_CONNECT, kind: .offline, text: "Failed to connect to origin.test:80 after 1 ms",
      osError: ENETUNREACH, hasRoute: false, usedProxy: false, says: "no network"),
    Row(code: CURLE_COULDNT_CONNECT, kind: .proxy, connectStatus: 502, usedProxy: true, says: "502"),
    Row(code: CURLE_WEIRD_SERVER_REPLY, kind: .protocol),
    Row(code: CURLE_HTTP2, kind: .protocol),
    Row(code: CURLE_PARTIAL_FILE, kind: .truncated, hasHead: true),
    Row(code: CURLE_PARTIAL_FILE, kind: .disconnected),
    Row(code: CURLE_WRITE_ERROR, kind: .other),
    Row(code: CURLE_WRITE_ERROR, kind: .other, hasHead: true),
    Row(code: CURLE_WRITE_ERROR, kind: .other, isEncoded: true),
    Row(code: CURLE_WRITE_ERROR, kind: .protocol, hasHead: true, isEncoded: true, says: "coding"),
    Row(code: CURLE_UPLOAD_FAILED, kind: .disconnected),
    Row(code: CURLE_READ_ERROR, kind: .other, says: "body"),
    Row(code: CURLE_OUT_OF_MEMORY, kind: .protocol),
    Row(code: CURLE_OUT_OF_MEMORY, kind: .other, hasHead: true, says: "memory"),
    Row(code: CURLE_OUT_OF_MEMORY, kind: .tooLarge, hasHead: true, isEncoded: true),
    Row(code: CURLE_OPERATION_TIMEDOUT, kind: .timeout(.connect)),
    Row(code: CURLE_SSL_CONNECT_ERROR, kind: .tls("handshake")),
    Row(code: CURLE_ABORTED_BY_CALLBACK, kind: .cancelled, says: "cancelled"),
    Row(code: CURLE_BAD_FUNCTION_ARGUMENT, kind: .protocol),
    Row(code: CURLE_GOT_NOTHING, kind: .disconnected),
    Row(code: CURLE_SSL_ENGINE_NOTFOUND, kind: .tls("library"), says: "TLS"),
    Row(code: CURLE_SSL_ENGINE_SETFAILED, kind: .tls("library"), says: "TLS"),
    Row(code: CURLE_SEND_ERROR, kind: .disconnected),
    Row(
      code: CURLE_RECV_ERROR, kind: .protocol, text: "chunk hex-length char not a hex digit: 0x7a",
      hasHead: true),
    Row(code: CURLE_RECV_ERROR, kind: .disconnected),
    Row(code: CURLE_RECV_ERROR, kind: .truncated, hasHead: true),
    Row(code: CURLE_RECV_ERROR, kind: .protocol, text: "Illegal hex in chunked-encoding", hasHead: true),
    Row(code: CURLE_RECV_ERROR, kind: .proxy, connectStatus: 407, says: "407"),
    Row(code: CURLE_RECV_ERROR, kind: .proxy, connectStatus: 300, says: "300"),
    Row(code: CURLE_RECV_ERROR, kind: .disconnected, connectStatus: 299),
    Row(code: CURLE_SSL_CERTPROBLEM, kind: .tls("clientCertificate"), says: "client certificate"),
    Row(code: CURLE_SSL_CIPHER, kind: .tls("handshake")),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("wrongHost")),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("wrongHost"), verifyResult: 1),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("notYetValid"), verifyResult: 9),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("expired"), verifyResult: 10),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("selfSigned"), verifyResult: 18),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("selfSigned"), verifyResult: 19),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("untrusted"), verifyResult: 20),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("untrusted"), verifyResult: 21),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("revoked"), verifyResult: 23),
    Row(code: CURLE_PEER_FAILED_VERIFICATION, kind: .tls("wrongHost"), verifyResult: 62),
    Row(code: CURLE_BAD_CONTENT_ENCODING, kind: .protocol),
    Row(code: CURLE_FILESIZE_EXCEEDED, kind: .tooLarge),
    Row(code: CURLE_SEND_FAIL_REWIND, kind: .disconnected),
    Row(code: CURLE_SSL_ENGINE_INITFAILED, kind: .tls("library"), says: "TLS"),
    Row(code: CURLE_SSL_CACERT_BADFILE, kind: .tls("authorities"), says: "authorities"),
    Row(code: CURLE_SSL_SHUTDOWN_FAILED, kind: .truncated, hasHead: true),
    Row(code: CURLE_SSL_CRL_BADFILE, kind: .tls("authorities"), says: "revocation"),
    Row(code: CURLE_SSL_ISSUER_ERROR, kind: .tls("untrusted")),
    Row(code: CURLE_SSL_PINNEDPUBKEYNOTMATCH, kind: .tls("untrusted")),
    Row(code: CURLE_SSL_INVALIDCERTSTATUS, kind: .tls("revoked")),
    Row(code: CURLE_HTTP2_STREAM, kind: .disconnected),
    Row(code: CURLE_HTTP2_STREAM, kind: .truncated, hasHead: true),
    Row(code: CURLE_PROXY, kind: .proxy, says: "proxy"),
    Row(code: CURLE_SSL_CLIENTCERT, kind: .tls("clientCertificate")),
    Row(code: CURLE_UNRECOVERABLE_POLL, kind: .other, says: "network"),
    Row(code: CURLcode(rawValue: 100), kind: .protocol, says: "header"),
    Row(code: CURLcode(rawValue: 100), kind: .tooLarge, hasHead: true, isEncoded: true),
    Row(
      code: CURLE_BAD_FUNCTION_ARGUMENT, kind: .tls("clientCertificate"),
      text: "unable to set private key file: '/k.pem' type PEM", says: "key"),
    Row(code: CURLE_FTP_WEIRD_PASV_REPLY, kind: .other),
  ]

  @Test("Each code and case has its kind and its words", arguments: rows) func row(row: Row) {
    let failure = TransferFailure(
      code: row.code, text: row.text, osError: row.osError, verifyResult: row.verifyResult,
      connectStatus: row.connectStatus, hasHead: row.hasHead, isEncoded: row.isEncoded,
      host: "origin.test", port: 80, usedProxy: row.usedProxy,
      unixSocket: row.unixSocket)
    let error = failure.error { row.hasRoute }
    #expect(error.kind == row.kind)
    #expect(error.message.contains(row.says))
    #expect(!"\(error.message) \(error.hint ?? "")".contains("secret"))
    #expect(!error.message.contains("%@") && !error.message.contains("\n"))
    #expect((error.underlying as? CurlError)?.code == Int(row.code.rawValue))
  }

  @Test(
    arguments: [
      (CURLE_COULDNT_CONNECT, EMFILE, false), (CURLE_COULDNT_CONNECT, ENFILE, false),
      (CURLE_COULDNT_RESOLVE_HOST, 0, true), (CURLE_SSL_CACERT_BADFILE, 0, true),
      (CURLE_OUT_OF_MEMORY, 0, true),
    ] as [(CURLcode, Int32, Bool)])
  func `where no descriptor is left, that is the error, and the network is not blamed`(
    code: CURLcode, osError: Int32, areUsedUp: Bool
  ) {
    let failure = TransferFailure(
      code: code, text: "words", osError: osError, host: "origin.test", areDescriptorsUsedUp: areUsedUp)
    let error = failure.error { true }
    #expect(error.message == "too many open files" && error.hint == "raise the limit (ulimit -n)")
    #expect(!error.kind.isConnectivity)
    #expect(areUsedUp == TransferFailure.mayBeOfDescriptors(code) || osError != 0)
  }

  @Test(
    arguments: [
      (CURLE_SSL_CERTPROBLEM, "words"),
      (CURLE_BAD_FUNCTION_ARGUMENT, "unable to set private key file: '/k.pem'"),
    ] as [(CURLcode, String)])
  func `a key with a pass phrase is named, with the remedy`(code: CURLcode, text: String) {
    let failure = TransferFailure(code: code, text: text, host: "origin.test", protectedKeyFile: "/k.pem")
    let error = failure.error { true }
    #expect(error.kind == .tls("clientCertificate") && error.message.contains("/k.pem"))
    #expect(error.hint?.contains("openssl pkey") == true)
  }

  @Test func `whose the proxy is decides where it is to be looked for`() {
    for isGiven in [true, false] {
      for text in ["words", "Unsupported proxy scheme for 'foo://p'"] {
        let failure = TransferFailure(
          code: CURLE_COULDNT_CONNECT, text: text, osError: ECONNREFUSED, host: "origin.test", port: 80,
          isProxyGiven: isGiven, usedProxy: true)
        let error = failure.error { true }
        let hint = error.hint ?? ""
        #expect(error.kind == .proxy && hint.hasPrefix("check the proxy's address"), "\(text)")
        #expect(hint.contains("which the environment names") == !isGiven, "\(text)")
      }
    }
  }

  @Test func `what the message says of a port means nothing where none is known`() {
    let text = "Failed to connect to origin.test port 3128 after 1 ms"
    for (port, kind) in [(0, .refused), (1, .proxy), (3_128, .refused)] as [(Int, DataServiceError.Kind)] {
      let failure = TransferFailure(
        code: CURLE_COULDNT_CONNECT, text: text, osError: ECONNREFUSED, host: "origin.test", port: port)
      #expect(failure.error { true }.kind == kind, "\(port)")
    }
    // Another address was given for the host, so that the message names another.
    let resolved = TransferFailure(
      code: CURLE_COULDNT_CONNECT, text: "Failed to connect to 127.0.0.2 port 80 after 1 ms",
      osError: ECONNREFUSED, host: "origin.test", port: 80, isResolved: true)
    #expect(resolved.error { true }.kind == .refused)
  }

  @Test func `a host in another spelling is no proxy`() {
    let cases: [(host: String, peer: String, kind: DataServiceError.Kind)] = [
      ("127.1", "127.0.0.1", .refused), ("2130706433", "127.0.0.1", .refused),
      ("0177.0.0.1", "127.0.0.1", .refused), ("0x7f.1", "127.0.0.1", .refused),
      ("%31%32%37.0.0.1", "127.0.0.1", .refused), ("origin%2etest", "origin.test", .refused),
      ("Origin.TEST.", "origin.test", .refused), ("100%", "100%", .refused), ("%zz", "%ZZ", .refused),
      ("0:0:0:0:0:0:0:1", "::1", .refused), ("fe80::1%25lo", "fe80::1", .refused),
      ("127.1", "127.0.0.2", .proxy), ("0:0:0:0:0:0:0:1", "::2", .proxy), ("::1", "127.0.0.1", .proxy),
      ("origin.test", "proxy.test", .proxy),
    ]
    for (host, peer, kind) in cases {
      var failure = TransferFailure(
        code: CURLE_COULDNT_CONNECT, text: "Failed to connect to \(peer) port 80 after 1 ms",
        osError: ECONNREFUSED, host: host, port: 80)
      #expect(failure.error { true }.kind == kind, "\(host), \(peer)")
      failure.mayUseProxy = false
      #expect(failure.error { true }.kind == .refused, "\(host), \(peer)")
    }
  }

  @Test func `a proxy is on the way only where it is given, or named by a variable that libcurl reads`() {
    var options = ConnectionOptions()
    let variables = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "HTTP_PROXY"]
    for (isSecure, read) in [
      (false, ["http_proxy", "all_proxy", "ALL_PROXY"]),
      (true, ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
    ] {
      for name in variables {
        let used = options.proxyInForce(isSecure: isSecure) { "\($0)" == name ? "http://p" : nil }
        #expect(used?.url == (read.contains(name) ? "http://p" : nil), "\(name), secure: \(isSecure)")
      }
      #expect(options.proxyInForce(isSecure: isSecure) { _ in "" } == nil, "secure: \(isSecure)")
    }
    options.proxy = ""
    #expect(options.proxyInForce(isSecure: false) { _ in "http://p" } == nil)
    options.proxy = "http://p"
    #expect(options.proxyInForce(isSecure: false) { _ in nil }?.exceptions == "")
    for name in ["no_proxy", "NO_PROXY"] {
      let past = options.proxyInForce(isSecure: false) { "\($0)" == name ? "a.test" : nil }
      #expect(past?.url == "http://p" && past?.exceptions == "a.test", "\(name)")
      #expect(options.proxyInForce(isSecure: false) { "\($0)" == name ? "*" : nil } == nil, "\(name)")
    }
    options.unixSocket = "/run/x"
    #expect(options.proxyInForce(isSecure: false) { _ in "http://p" } == nil)
  }

  @Test func `every code in the table has a row here`() {
    let tested = Set(Self.rows.map(\.code.rawValue))
    #expect(Set(TransferFailure.meanings.keys).subtracting(tested).isEmpty)
  }

  @Test func `connectivity is what another network may mend`() {
    let kinds = Set(Self.rows.map(\.kind).filter(\.isConnectivity).map(\.name))
    #expect(kinds == ["dns", "offline", "refused", "unreachable", "timeout(connect)", "disconnected"])
  }
}
