import CacheStore
import DataService
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: requests", .inTurn) struct RequestArgumentsTests {
  private func request(_ words: String...) throws -> DataService.Request {
    try RequestArguments(try ArgumentParser.parse(words + ["http://a/"])).request(for: "http://a/")
  }

  private func failure(_ words: [String]) -> String? {
    do throws(UsageError) {
      _ = try RequestArguments(try ArgumentParser.parse(words + ["http://a/"]))
      return nil
    } catch {
      return error.line
    }
  }

  @Test func `a body makes it a POST with curl's content type`() throws {
    let request = try request("-d", "a=1", "--data-binary", "b=2")
    #expect(request.method == .post)
    #expect(request.body == Data("a=1&b=2".utf8))
    #expect(request.fields["Content-Type"] == "application/x-www-form-urlencoded")
    let other = try self.request("-d", "{}", "-X", "PUT", "-H", "content-type: application/json")
    #expect(other.method == .put)
    #expect(other.fields.values(of: "Content-Type") == ["application/json"])
  }

  @Test(arguments: ["-d", "--data-binary"]) func `an empty body is one, and makes it a POST`(option: String)
    throws
  {
    let request = try request(option, "")
    #expect(request.method == .post && request.body == Data())
    #expect(try self.request(option, "", option, "a=1").body == Data("&a=1".utf8))
  }

  @Test func `a body from a file is taken byte for byte`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write([0, 0xFF, 0x0D, 0x0A], to: "body")
    #expect(try request("-d", "@\(path)").body == Data([0, 0xFF, 0x0D, 0x0A]))
  }

  @Test func `fields from a file are taken byte for byte, one a line`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(Array("X-A: 1\r\n\nX-B: ".utf8) + [0xE9, 0x0A], to: "fields")
    let request = try request("-H", "@\(path)", "-H", "X-C;")
    #expect(request.fields.wire == Array("X-A: 1\r\nX-B: ".utf8) + [0xE9] + Array("\r\nX-C: \r\n".utf8))
  }

  @Test func `credentials become a Basic field`() throws {
    #expect(try request("-u", "alice:pa:ss").fields["Authorization"] == "Basic YWxpY2U6cGE6c3M=")
    let folder = try TemporaryFolder()
    let path = try folder.write("alice:secret\n", to: "user")
    #expect(try request("-u", "@\(path)").fields["Authorization"] == "Basic YWxpY2U6c2VjcmV0")
  }

  @Test func `limits, connection and row options reach the request`() throws {
    let request = try request(
      "--max-body", "1k", "-m", "9s", "--connect-timeout", "1s", "--retry", "0", "--no-location", "-k",
      "--resolve", "h:80:[::1]", "--unix-socket", "/s", "-x", "http://p", "--http1.1", "--no-compressed",
      "--account", "alice", "--key", "k", "--tag", "t", "--tag", "u", "--pin", "--keep-anyway", "--read",
      "--wait-online", "2s", "--ignore-path", "/a")
    #expect(request.limits.bodyBytes == 1024 && request.limits.totalTimeout == .seconds(9))
    #expect(request.limits.connectTimeout == .seconds(1))
    #expect(request.limits.retries == 0 && request.limits.redirects == 0)
    #expect(
      request.connection.isInsecure && request.connection.isHTTP11Only && !request.connection.isCompressed)
    #expect(request.connection.resolutions == [.init(host: "h", port: 80, address: "::1")])
    #expect(request.connection.unixSocket == "/s" && request.connection.proxy == "http://p")
    #expect(request.account == .named("alice") && request.key == "k" && request.tags == ["t", "u"])
    #expect(request.isPinned && request.keepsAnyway && request.isRead && request.onlineWait == .seconds(2))
    #expect(request.changeRule == .json(ignoring: ["/a"]))
  }

  @Test func `a time limit longer than that of the first byte is that of the first byte too`() throws {
    #expect(try request().limits.firstByteTimeout == .seconds(30))
    for (text, seconds) in [("9s", 30), ("45s", 45), ("1h", 3_600)] {
      #expect(try request("-m", text).limits.firstByteTimeout == .seconds(seconds), "\(text)")
    }
  }

  @Test(
    "What is wrong is named, and no value is shown",
    arguments: [
      (["-H", "geheim"], "no colon"), (["-H", "a b: geheim"], "is not a token"),
      (["-H", "a: geheim\nx: y"], "line break"),
      (["-H", "Accept:"], "write -H 'Accept;'"), (["-u", "geheim"], "no colon"),
      (["-X", "G T"], "is not a token"),
      (["-X", "post"], "write -X POST"), (["-X", "CONNECT"], "CONNECT"), (["-I", "-d", "x"], "HEAD"),
      (["-d", "@/nowhere/geheim-not"], "no such file"), (["--resolve", "h:1"], "HOST:PORT:ADDRESS"),
      (["--ignore-path", "a"], "JSON Pointer"), (["--ignore-path", "/nested~2t"], "JSON Pointer"),
      (["--ignore-path", "/a~"], "JSON Pointer"), (["--ignore-path", "/a", "--ignore-path", "#/a"], "“#/a”"),
      (["--cacert", "/nowhere", "https://a/"], "cannot be read"),
      (["-x", "ftp://geheim:geheim@p"], "“ftp” is not supported"), (["-x", "http://"], "names no proxy"),
      (["-x", ":3128"], "names no proxy"), (["--account", "a\nb"], "--account “a^Jb” has a line break"),
      (["--tag", "ok", "--tag", "a\u{9B}b"], "--tag “a<U+009B>b” has a line break or another control"),
      (["-u", "a:b", "-H", "Authorization: geheim"], "cannot be combined"),
    ] as [([String], String)])
  func refusal(words: [String], part: String) {
    let line = failure(words)
    #expect(line?.contains(part) == true, "\(line ?? "taken")")
    #expect(line?.contains("geheim ") == false)
  }

  @Test func `what is not said is as a request has it`() throws {
    let request = try request()
    #expect(
      request.method == .get && request.body == nil && request.fields.isEmpty && request.account == .automatic
    )
    #expect(
      request.key == nil && request.tags == [] && !request.isPinned && !request.keepsAnyway && !request.isRead
    )
    #expect(request.onlineWait == nil && request.changeRule == .bytes && request.acceptedMediaTypes == [])
    #expect(
      !request.connection.isInsecure && !request.connection.isHTTP11Only && request.connection.isCompressed)
    #expect(request.connection.resolutions == [] && request.connection.proxy == nil)
    #expect(request.limits.redirects > 0 && request.limits.retries > 0)
  }

  @Test(arguments: [
    ("h:1:1.2.3.4", "h", 1, "1.2.3.4"), ("h:65535:[::1]", "h", 65_535, "::1"), ("h:80:::1", "h", 80, "::1"),
    ("h:80:[fe80::1%eth0]", "h", 80, "fe80::1%eth0"), ("ü:80:1.2.3.4", "xn--tda", 80, "1.2.3.4"),
  ]) func `a resolution is a host, a port and an address, with brackets or without`(
    text: String, host: String, port: Int, address: String
  ) throws {
    #expect(try ResolveArgument.parse(text) == .init(host: host, port: port, address: address))
  }

  @Test(arguments: [
    "h:0:1.2.3.4", "h:65536:1.2.3.4", "h:80:", ":80:1.2.3.4", "h:x:1.2.3.4", "h:80", "h", "h:80:[::1",
    "h:80:::1]", "h:80:[1.2.3.4]", "h:80:[]", "h:80:1.2.3", "h:80:::1%", "h:80:a.example",
  ])
  func `what is no resolution is refused`(text: String) {
    #expect(throws: UsageError.self) { try ResolveArgument.parse(text) }
  }

  @Test(arguments: [
    ("*:80:1.2.3.4", "“*:80:1.2.3.4” is for every host", "for each host"),
    ("+h:80:1.2.3.4", "“+h:80:1.2.3.4” begins with “+”", "leave it out"),
    ("h:80:1.2.3.4,::1", "“1.2.3.4,::1” is more than one address", "one HOST:PORT:ADDRESS"),
    ("h:80:notanip", "“notanip” is not an address", "IPv4"),
  ]) func `curl's other resolutions are refused, with what to write`(
    text: String, thing: String, remedy: String
  ) throws {
    let error = #expect(throws: UsageError.self) { try ResolveArgument.parse(text) }
    #expect(error?.message.contains(thing) == true && error?.remedy.contains(remedy) == true)
    #expect(error?.status == .usage)
  }

  @Test func `media types are apart by commas`() throws {
    #expect(
      try request("--accept", "a/b, c/*", "--accept", "d/e").acceptedMediaTypes == ["a/b", "c/*", "d/e"])
    #expect(failure(["--accept", "a/b,"])?.contains("is not a media type") == true)
  }

  @Test func `pointers to ignore have their escapes`() throws {
    #expect(
      try request("--ignore-path", "/a~0~1", "--ignore-path", "/").changeRule
        == .json(ignoring: ["/a~0~1", "/"]))
  }

  @Test(arguments: [("a!~", true), ("a\u{7F}", false), ("a b", false), ("a#", false), ("ü", false)])
  func `a query has no space, control character, hash or letter beyond ASCII`(data: String, isTaken: Bool) {
    #expect((failure(["-G", "-d", data]) == nil) == isTaken)
  }

  @Test(arguments: [
    ("http://p:1", true), ("https://p", true), ("socks5h://p", true), ("p:3128", true), ("HTTP://p", true),
    ("ftp://p", false), ("http://", false), (":3128", false), ("http://p /", false), ("http://u:p@", false),
    ("http://p!", true), ("gopher://p://x", false),
  ]) func `a proxy is a host, with or without a known scheme and a port`(text: String, isTaken: Bool) {
    #expect((failure(["-x", text]) == nil) == isTaken)
  }

  @Test(arguments: ["get", "watch", "preload", "diff", "rm"])
  func `tags are for verbs that store with them`(verb: String) throws {
    let arguments = try ArgumentParser.parse([verb, "--tag", "t", "http://a/"])
    #expect(try RequestArguments(arguments).request(for: "http://a/").tags == (verb == "rm" ? [] : ["t"]))
  }

  @Test func `a method is case-sensitive, and may be any token`() throws {
    #expect(
      try request("-X", "Get").method.rawValue == "Get" && request("-X", "trace").method.rawValue == "trace")
    for method in ["get", "head", "post", "put", "patch", "delete", "options"] {
      #expect(failure(["-X", method])?.contains("write -X \(method.uppercased())") == true, "\(method)")
    }
    #expect(failure(["-I", "-X", "GET"])?.contains("HEAD") == true)
    #expect(try request("-I").method == .head)
    #expect(failure(["-X", "HEAD", "-d", "x"])?.contains("has no body; leave -d out") == true)
    #expect(try request("-X", "HEAD").method == .head)
    #expect(try request("-X", "HEAD", "-G", "-d", "x").method == .head)
  }

  @Test func `a time limit of 0 is the usual one, as in curl`() throws {
    let usual = try request().limits
    let limits = try request("--connect-timeout", "0", "-m", "0").limits
    #expect(limits.connectTimeout == usual.connectTimeout)
    #expect(limits.totalTimeout == usual.totalTimeout)
  }
}
