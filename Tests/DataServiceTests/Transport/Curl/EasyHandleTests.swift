import CCurl
import CacheStore
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("libcurl transport: options and handles", .inTurn) struct EasyHandleTests {
  private static func transport(
    _ libcurl: ChangedLibcurl, thread: NetworkThread = NetworkThread(), perHost: Int = 6
  ) -> CurlTransport {
    var configuration = CurlConfiguration()
    configuration.libraryName = libcurl.path
    configuration.exchangesPerHost = perHost
    return CurlTransport(
      configuration: configuration, thread: thread, timekeeper: SystemTimekeeper(thread: thread))
  }

  /// How an exchange ends that gets no answer.
  private static func failure(_ transport: CurlTransport, _ request: TransportRequest) async
    -> DataServiceError?
  {
    do throws(DataServiceError) {
      _ = try await transport.response(to: request)
      return nil
    } catch {
      return error
    }
  }

  /// An origin that is gone, whose port nobody else takes.
  private static func goneOrigin() throws -> FixtureServer {
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    origin.stop()
    return origin
  }

  private static func request(
    _ url: String, method: RequestMethod = .get, body: String? = nil,
    _ configure: (inout ConnectionOptions) -> Void = { _ in }
  ) throws -> TransportRequest {
    var request = TransportRequest(
      url: try #require(URL(string: url)), method: method, body: body.map { Data($0.utf8) },
      limits: .unhurried)
    configure(&request.connection)
    return request
  }

  @Test(.enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"))
  func `an option that libcurl does not take ends the exchange before anything is sent`() async throws {
    let libcurl = try await ChangedLibcurl()
    let origin = try Self.goneOrigin()
    let (plain, secure) = ("http://127.0.0.1:\(origin.port)/", "https://127.0.0.1:\(origin.port)/")
    let requests = [
      try Self.request(secure),
      try Self.request(secure) { $0.isHTTP11Only = true },
      try Self.request(plain, method: .head) { $0.unixSocket = "/nobody/socket" },
      try Self.request(plain, method: .delete) { $0.proxy = plain },
      try Self.request(plain, method: .post, body: "abc") { options in
        options.isInsecure = true
        options.certificateAuthorityFile = "/nobody/file"
        options.certificateAuthorityFolder = "/nobody/folder"
        options.clientCertificateFile = "/nobody/certificate"
        options.clientKeyFile = "/nobody/key"
        options.resolutions = [.init(host: "127.0.0.1", port: Int(origin.port), address: "127.0.0.1")]
      },
    ]
    for (number, request) in requests.enumerated() {
      let transport = Self.transport(libcurl)
      var refused = 0
      while true {
        libcurl[.refusedSetting] = refused + 1
        let error = try #require(await Self.failure(transport, request))
        guard error.message.hasPrefix("libcurl does not take an option: ") else { break }
        #expect(error.kind == .other && (error.underlying as? CurlError)?.code == 48, "\(number)")
        refused += 1
      }
      // The next would have been one more than there are.
      #expect(refused >= 30 && refused == libcurl[.settings], "\(number): \(refused)")
    }
    withExtendedLifetime(origin) {}
  }

  @Test(.enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"))
  func `every exchange has the rules that hold whatever libcurl's defaults are`() async throws {
    let libcurl = try await ChangedLibcurl()
    let origin = try Self.goneOrigin()
    let cases: [(url: String, isOld: Bool, version: Int, waits: Int)] = [
      ("http", false, 2, 0), ("http", true, 2, 0), ("https", false, 4, 1), ("https", true, 2, 0),
    ]
    for (scheme, isOld, version, waits) in cases {
      libcurl[.refusedSetting] = 0
      let request = try Self.request("\(scheme)://127.0.0.1:\(origin.port)/") { $0.isHTTP11Only = isOld }
      #expect(await Self.failure(Self.transport(libcurl), request)?.kind == .refused, "\(scheme)")
      let rules: [(option: CURLoption, value: Int)] = [
        (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_NETRC, 0),
        (CURLOPT_DISALLOW_USERNAME_IN_URL, 1), (CURLOPT_HTTP09_ALLOWED, 0), (CURLOPT_PATH_AS_IS, 1),
        (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1), (CURLOPT_HTTP_VERSION, version), (CURLOPT_PIPEWAIT, waits),
        // CURLOPT_PROTOCOLS, which newer headers call outdated: HTTP and HTTPS.
        (CURLoption(rawValue: 181), 3),
      ]
      for (option, value) in rules {
        #expect(libcurl.value(of: option.rawValue) == value, "\(scheme), \(option.rawValue)")
      }
      // Whoever is not told to trust everybody trusts nobody unknown, which is libcurl's default.
      #expect(libcurl.value(of: CURLOPT_SSL_VERIFYPEER.rawValue) == -1)
    }
    libcurl[.refusedSetting] = 0
    let insecure = try Self.request("https://127.0.0.1:\(origin.port)/") { $0.isInsecure = true }
    #expect(await Self.failure(Self.transport(libcurl), insecure)?.kind == .refused)
    #expect(libcurl.value(of: CURLOPT_SSL_VERIFYPEER.rawValue) == 0)
    #expect(libcurl.value(of: CURLOPT_SSL_VERIFYHOST.rawValue) == 0)
    withExtendedLifetime(origin) {}
  }

  @Test(.enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"))
  func `libcurl is told the limit for connecting, from a millisecond to a day`() async throws {
    let libcurl = try await ChangedLibcurl()
    let origin = try Self.goneOrigin()
    let limits: [(limit: Duration, milliseconds: Int)] = [
      (.seconds(7), 7_000), (.milliseconds(1_500), 1_500), (.zero, 1), (.seconds(86_399), 86_399_000),
      (.seconds(86_401), 86_400_000), (.seconds(Int64.max), 86_400_000),
    ]
    for (limit, milliseconds) in limits {
      libcurl[.refusedSetting] = 0
      var request = try Self.request("http://127.0.0.1:\(origin.port)/")
      request.limits.connectTimeout = limit
      #expect(await Self.failure(Self.transport(libcurl), request) != nil)
      #expect(libcurl.value(of: CURLOPT_CONNECTTIMEOUT_MS.rawValue) == milliseconds, "\(limit)")
    }
    withExtendedLifetime(origin) {}
  }

  @Test(.enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"))
  func `what libcurl cannot make or begin fails its exchange alone`() async throws {
    // Of a version whose handles serve one exchange each.
    let libcurl = try await ChangedLibcurl(version: 0x08_00_00)
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    let thread = NetworkThread()
    // One that keeps its place would hold up the next.
    let transport = Self.transport(libcurl, thread: thread, perHost: 1)
    let faults: [(number: ChangedLibcurl.Number, says: String)] = [
      (.refusesMulti, "libcurl could not be initialised"),
      (.refusesHandles, "libcurl could not make a transfer"),
      (.refusesAdding, "libcurl could not start a transfer: "),
      (.refusesPerforming, "libcurl failed: "),
    ]
    for (number, says) in faults {
      libcurl[number] = 1
      for _ in 0..<2 {
        let error = await Self.failure(transport, origin.request("/"))
        #expect(error?.kind == .other && error?.message.hasPrefix(says) == true, "\(number): \(error as Any)")
      }
      libcurl[number] = 0
    }
    libcurl[.refusedSetting] = 1
    #expect(await Self.failure(transport, origin.request("/"))?.kind == .other)
    libcurl[.refusedSetting] = 0
    for _ in 0..<2 {
      #expect(try await transport.response(to: origin.request("/")).body.text() == "hello")
    }
    #expect(origin.requests().count == 2)
    await thread.stop()
    #expect(libcurl[.handles] == 0 && libcurl[.multis] == 0 && libcurl[.lists] == 0)
  }

  @Test(.enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"))
  func `no memory for a line of the head fails the exchange, and what there is of the list is freed`()
    async throws
  {
    let libcurl = try await ChangedLibcurl(version: 0x08_00_00)
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.body)) }
    let thread = NetworkThread()
    let transport = Self.transport(libcurl, thread: thread)
    // Two fields, and two that are none of libcurl's.
    let request = origin.request("/", method: .post, fields: ["X-A": "1", "X-B": ""], body: Data("abc".utf8))
    for line in 1...4 {
      libcurl[.refusedLine] = line
      let error = await Self.failure(transport, request)
      #expect(error?.kind == .other && error?.message == "out of memory", "\(line)")
    }
    libcurl[.refusedLine] = 5
    #expect(try await transport.response(to: request).body.text() == "abc")
    let sent = try #require(origin.requests().first)
    #expect(sent["X-A"] == "1" && sent["X-B"] == "" && sent["Content-Type"] == nil)
    #expect(origin.requests().count == 1)
    await thread.stop()
    #expect(libcurl[.lists] == 0 && libcurl[.handles] == 0 && libcurl[.multis] == 0)
  }

  @Test(
    .enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"),
    arguments: [(0x08_01_00, true), (0x09_00_00, true), (0x08_00_FF, false)])
  func `from 8.1 on a handle serves one exchange after another, and none shows in the next`(
    version: Int, isReused: Bool
  ) async throws {
    let libcurl = try await ChangedLibcurl(version: version)
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.body)) }
    let thread = NetworkThread()
    let transport = Self.transport(libcurl, thread: thread)
    var plain = ConnectionOptions()
    plain.isCompressed = false
    var resolved = ConnectionOptions()
    resolved.resolutions = [.init(host: "a.test", port: Int(origin.port), address: "127.0.0.1")]
    var agent = origin.request("/9", fields: ["User-Agent": "mine", "X-A": "c"])
    agent.limits.connectTimeout = .seconds(1_800)
    let requests = [
      origin.request("/1"),
      origin.request("/2", method: .post, body: Data("two".utf8)),
      origin.request("/3"),
      origin.request("/4", method: .head),
      origin.request("/5", fields: ["X-A": "b"], connection: plain),
      origin.request("/6", method: .put, body: Data("sixth".utf8)),
      origin.request("/7", method: .delete, connection: resolved),
      origin.request("/8"),
      agent,
      origin.request("/10", method: .post),
      origin.request("/11"),
    ]
    for request in requests {
      let response = try await transport.response(to: request)
      let expected = String(decoding: request.body ?? Data(), as: UTF8.self)
      #expect(try await response.body.text() == expected, "\(request.url.path())")
      #expect(response.status == 200, "\(request.url.path())")
    }
    let sent = origin.requests()
    #expect(sent.map(\.path) == (1...11).map { "/\($0)" })
    #expect(
      sent.map(\.method)
        == ["GET", "POST", "GET", "HEAD", "GET", "PUT", "DELETE", "GET", "GET", "POST", "GET"])
    #expect(sent.map(\.bodyText) == ["", "two", "", "", "", "sixth", "", "", "", "", ""])
    #expect(sent.map { $0["Content-Length"] ?? "" } == ["", "3", "", "", "", "5", "", "", "", "0", ""])
    #expect(sent.map { $0["X-A"] ?? "" } == ["", "", "", "", "b", "", "", "", "c", "", ""])
    #expect(sent.map { $0["Accept-Encoding"] == nil } == (1...11).map { $0 == 5 })
    #expect(sent.map { $0["User-Agent"] == "mine" } == (1...11).map { $0 == 9 })
    #expect(sent.allSatisfy { $0["Content-Type"] == nil && $0["Expect"] == nil })
    #expect((libcurl[.made] == 1) == isReused, "\(libcurl[.made])")
    await thread.stop()
    #expect(libcurl[.lists] == 0 && libcurl[.handles] == 0 && libcurl[.multis] == 0)
  }
}
