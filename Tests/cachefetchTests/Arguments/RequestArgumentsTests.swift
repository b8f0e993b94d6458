import CacheStore
import DataService
import FoundationEssentials
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
      (["--cacert", "/nowhere"], "cannot be read"),
      (["-x", "ftp://geheim:geheim@p"], "“ftp” is not supported"), (["-x", "http://"], "names no proxy"),
      (["-x", ":3128"], "names no proxy"),
      (["-u", "a:b", "-H", "Authorization: geheim"], "cannot be combined"),
    ] as [([String], String)])
  func refusal(words: [String], part: String) {
    let line = failure(words)
    #expect(line?.contains(part) == true, "\(line ?? "taken")")
    #expect(line?.contains("geheim ") == false)
  }
}

@Suite("Command line: get", .inTurn) struct GetPlanTests {
  private func plan(_ words: String...) throws(UsageError) -> GetPlan {
    try GetPlan(try ArgumentParser.parse(words))
  }

  @Test func `each policy has its spelling`() throws {
    #expect(try plan("http://a/").policy == .storedThenFresh)
    #expect(try plan("--offline", "http://a/").policy == .storedOnly)
    #expect(try plan("--max-age", "5m", "http://a/").policy == .storedElseFresh(.seconds(300)))
    #expect(try plan("--deadline", "2s", "http://a/").policy == .freshElseStored(.seconds(2)))
    #expect(try plan("--policy", "fresh-only", "http://a/").policy == .freshOnly)
    #expect(try plan("--policy", "fresh-else-stored", "http://a/").policy == .freshElseStored(nil))
    #expect(try plan("--policy", "http", "http://a/").policy == .http)
  }

  @Test(
    "Combinations that make no sense are refused",
    arguments: [
      ["--offline", "--max-age", "1m"], ["--offline", "--deadline", "1m"], ["--policy", "http", "--offline"],
      ["--max-age", "1m", "--deadline", "1m"], ["--policy", "stored-else-fresh"],
      ["--policy", "http", "--keep-anyway"],
      ["-o", "f", "http://b/"], ["--json", "-i"], ["--background", "--offline"],
      ["--background", "-d", "x"], ["--background", "-X", "DELETE"],
      ["--offline", "--pin"], ["--offline", "--tag", "t"], ["--offline", "--keep-anyway"],
      ["--offline", "--ignore-path", "/a"], ["--offline", "--wait-online", "1s"],
      ["--policy", "stored-only", "--tag", "t"], ["-o", "/nowhere/at/all"], ["-o", "/"],
    ])
  func refused(words: [String]) {
    #expect(throws: UsageError.self) { try GetPlan(try ArgumentParser.parse(words + ["http://a/"])) }
  }

  @Test func `the detached refresh is the same load without output`() throws {
    let arguments = try ArgumentParser.parse([
      "--background", "-i", "--json", "-H", "a: 1", "-m", "5s", "http://a/",
    ])
    #expect(
      Background.words(arguments)
        == ["get", "--print=none", "--quiet", "--header=a: 1", "--timeout=5s", "--", "http://a/"])
    let again = try ArgumentParser.parse(Background.words(arguments))
    #expect(again.verb == .get && again.operands == ["http://a/"] && !again.has(.background))
  }
}
