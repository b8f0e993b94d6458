import FixtureServer
import PlatformC
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

/// What somebody expects who comes from curl, and what the messages say.
@Suite("Command: manners", .inTurn) struct CurlMannersTests {
  /// Answers with what was asked: the target and the credentials.
  private func echo() throws -> FixtureServer {
    try FixtureServer { request, connection in
      let user = request["Authorization"] ?? "nobody"
      try connection.send(.ok("\(request.target) by \(user)", ["Cache-Control": "max-age=60"]))
    }
  }

  @Test func `netrc's credentials are used, kept apart, and sent to no other host`() async throws {
    var shell = try Shell()
    let origin = try echo()
    shell.environment["HOME"] = shell.store.folder.path
    shell.environment["NETRC"] = .some(nil)
    try shell.store.folder.write("machine 127.0.0.1 login alice password wonder", to: ".netrc")
    let alice = "by Basic YWxpY2U6d29uZGVy"
    #expect(try await shell.run("-n", origin.url + "/a").outputText == "/a \(alice)")
    #expect(try await shell.run("-n", "--offline", origin.url + "/a").outputText == "/a \(alice)")
    // An account of its own: without the file's credentials nothing of it is seen.
    #expect(try await shell.run("--offline", origin.url + "/a").status == 4)
    #expect(try await shell.run("-n", "-u", "bob:b", origin.url + "/b").outputText == "/b by Basic Ym9iOmI=")
    let other = origin.url.replacing("127.0.0.1", with: "localhost")
    #expect(
      try await shell.run("-n", "--resolve", "localhost:\(origin.port):127.0.0.1", other + "/c").outputText
        == "/c by nobody")
    try shell.store.folder.write("machine 127.0.0.1 login carol password c", to: "other")
    shell.environment["NETRC"] = shell.file("other")
    #expect(try await shell.run("-n", origin.url + "/d").outputText == "/d by Basic Y2Fyb2w6Yw==")
    let listed = try await shell.run("preload", "-n", "-", input: Array((origin.url + "/e\n").utf8))
    #expect(listed.status == 0)
    #expect(
      try await shell.run("-n", "--offline", origin.url + "/e").outputText == "/e by Basic Y2Fyb2w6Yw==")
  }

  @Test func `a netrc that is missing or wrong is said, and nothing is sent`() async throws {
    var shell = try Shell()
    let origin = try echo()
    shell.environment["NETRC"] = shell.file("none")
    let missing = try await shell.run("-n", origin.url)
    #expect(missing.status == 64 && missing.errorText.contains("cannot be read: no such file"))
    try shell.store.folder.write("machine a password", to: "none")
    let wrong = try await shell.run("-n", origin.url)
    #expect(wrong.status == 64 && wrong.errorText.contains("line 1"))
    #expect(origin.requests().isEmpty)
  }

  @Test(
    "curl's --key is not taken for the name of a stored response",
    arguments: [
      (["--cert", "cert.pem", "--key", "key.pem"], "is a file with a private key"),
      (["--key", "key.pem"], "is a file with a private key"),
      (["--cert", "cert.pem", "--key", "other.der"], "may be meant for the certificate"),
    ])
  func keyOfACertificate(words: [String], said: String) async throws {
    let shell = try Shell()
    let origin = try echo()
    try shell.store.folder.write("-----BEGIN CERTIFICATE-----\n", to: "cert.pem")
    try shell.store.folder.write("-----BEGIN EC PRIVATE KEY-----\n", to: "key.pem")
    let verbs = [[], ["diff"], ["watch"], ["show"], ["explain"], ["preload"]]
    for verb in verbs {
      let run = try await shell.run(verb + words + [origin.url + "/a"])
      #expect(run.status == 64 && run.errorText.contains(said), "\(verb): \(run.errorText)")
      #expect(run.errorText.contains("write --key-file"), "\(verb): \(run.errorText)")
    }
    #expect(origin.requests().isEmpty)
  }

  @Test func `a key of one's own stands beside a certificate that has its own`() async throws {
    let shell = try Shell()
    let origin = try echo()
    try shell.store.folder.write("", to: "cert.pem")
    let words = ["--cert", "cert.pem", "--key-file", "cert.pem", "--key", "mine"]
    #expect(try await shell.run(words + [origin.url + "/a"]).outputText == "/a by nobody")
    #expect(try await shell.run(words + ["--offline", origin.url + "/b"]).outputText == "/a by nobody")
  }

  @Test func `with -G the data are part of the URL that is stored`() async throws {
    let shell = try Shell()
    let origin = try echo()
    let run = try await shell.run("-G", "--data-urlencode", "q=a b&c", "--json", origin.url + "/s")
    #expect(run.outputText.contains("\"url\":\"\(origin.url)/s?q=a+b%26c\""))
    #expect(try await shell.run("show", origin.url + "/s?q=a+b%26c").outputText == "/s?q=a+b%26c by nobody")
  }

  @Test func `seconds need no unit`() async throws {
    let shell = try Shell()
    let origin = try echo()
    let words = ["-m", "3600", "--connect-timeout", "1800.5"]
    #expect(try await shell.run(words + [origin.url + "/m"]).status == 0)
  }

  @Test func `a URL of a megabyte is not repeated by the message`() async throws {
    let shell = try Shell()
    // Read from a file: an argument has no room for it.
    let url = "http://127.0.0.1:1/" + String(repeating: "x", count: 100_000)
    let down = try await shell.run("--retry", "0", url)
    #expect(
      down.status == 4 && down.errors.count < 1_000 && down.errorText.contains("http://127.0.0.1:1/xxx"))
    let refused = try await shell.run("ftp://a/" + String(repeating: "x", count: 100_000))
    #expect(refused.status == 64 && refused.errors.count < 1_000)
    let missing = try await shell.run("--offline", url)
    #expect(missing.status == 4 && missing.errors.count < 1_000)
  }

  @Test func `explain goes by the age and the deadline that are given`() async throws {
    let shell = try Shell()
    let origin = try echo()
    _ = try await shell.run(origin.url + "/e")
    let young = try await shell.run("explain", "--max-age", "1d", origin.url + "/e")
    #expect(young.outputText.contains("not older than 1 d 0 h"))
    let old = try await shell.run("explain", "--max-age", "0", origin.url + "/e")
    #expect(!old.outputText.contains("young enough"))
    let deadline = try await shell.run("explain", "--deadline", "2", origin.url + "/e")
    #expect(deadline.outputText.contains("fresh if within 2 s"))
  }

  @Test func `explain names each policy as the command takes it`() async throws {
    let shell = try Shell()
    let origin = try echo()
    _ = try await shell.run(origin.url + "/e")
    let all = try await shell.run("explain", origin.url + "/e").lines
    let names = all.drop { $0 != "policies" }.dropFirst().prefix { $0.hasPrefix("  ") }.map {
      $0.dropFirst(2).split(separator: "  ", maxSplits: 1)[0].description
    }
    #expect(names.count == 6)
    for name in names {
      let words = name == "--max-age D" ? ["--max-age", "1d"] : ["--policy", name]
      #expect(try await shell.run(words + ["--print", "none", origin.url + "/e"]).status == 0, "\(name)")
      let one = try await shell.run(["explain", "--json"] + words + [origin.url + "/e"]).outputText
      #expect(one.contains("\"policy\":\"\(name)\"}]"), "\(one)")
    }
  }

  @Test func `-v says something wherever it is offered`() async throws {
    let shell = try Shell()
    let origin = try echo()
    let url = origin.url + "/v"
    let first = try await shell.run("-v", url)
    #expect(
      first.errorText.contains("* nothing is stored\n") && first.errorText.contains("> GET /v HTTP/1.1\n"))
    let offline = try await shell.run("-v", "--offline", url)
    #expect(
      offline.errorText.contains("a response is stored") && offline.errorText.contains("sends no request"))
    let young = try await shell.run("-v", "--max-age", "1h", url)
    #expect(young.errorText.contains("not older than 1 h 0 min: no request"))
    for words in [
      ["list"], ["show", url], ["stats"], ["doctor"], ["explain", url], ["export", "x.cfx"],
      ["import", "x.cfx"],
      ["sign-out", "--account", "none"], ["rm", url],
    ] {
      let run = try await shell.run(words + ["-v"])
      #expect(
        run.errorText.contains("* store \(shell.store.path) (named by $CACHEFETCH_STORE)\n"),
        "\(words): \(run.errorText)")
    }
    #expect(try await shell.run("completions", "-v", "bash").status == 64)
  }

  @Test func `a proxy that is none is named before anything is sent`() async throws {
    var shell = try Shell()
    let origin = try echo()
    let given = try await shell.run("-x", "ftp://127.0.0.1:1", origin.url)
    #expect(given.status == 64 && given.errorText.contains("“ftp”"))
    shell.environment["http_proxy"] = "foo://alice:secret@127.0.0.1:1"
    let named = try await shell.run("--retry", "0", origin.url)
    #expect(named.status == 4 && named.errorText.contains("“foo”") && named.errorText.contains("http_proxy"))
    #expect(!named.errorText.contains("secret"))
    shell.environment["http_proxy"] = "socks5://127.0.0.1:1"
    let refused = try await shell.run("--retry", "0", origin.url)
    #expect(refused.errorText.contains("the proxy on the way"), "\(refused.errorText)")
    #expect(origin.requests().isEmpty)
  }

  @Test func `the same status is said alike wherever it comes from`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one"))
    _ = try await shell.run(origin.url)
    origin.answer(.status(503, ""))
    let got = try await shell.run("--retry", "0", "--connect-timeout", "1h", origin.url)
    #expect(got.errorText.contains("127.0.0.1:\(origin.server.port) answered 503 Service Unavailable"))
    let watching = try shell.start(
      "watch", "--retry", "0", "--connect-timeout", "1h", "--every", "10ms", origin.server.url + "/never")
    await watching.errors.waits(for: "\n")
    watching.send(SIGINT)
    let watched = await watching.finished()
    #expect(watched.errorText.contains("127.0.0.1:\(origin.server.port) answered 503 Service Unavailable"))
  }

  @Test func `a cookie that comes with a 304 is shown, and not stored`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let isKnown = request["If-None-Match"] != nil
      try connection.send(
        isKnown
          ? .notModified(etag: "\"1\"", ["Set-Cookie": "id=second"])
          : .ok("one", ["ETag": "\"1\"", "Set-Cookie": "id=first"]))
    }
    _ = try await shell.run(origin.url)
    let again = try await shell.run("-i", "--print", "fresh", origin.url)
    #expect(again.outputText.contains("Set-Cookie: id=second\r\n") && again.outputText.hasSuffix("one"))
    let stored = try await shell.run("show", "-i", origin.url)
    #expect(!stored.outputText.contains("Set-Cookie"))
  }

  @Test func `through a Unix socket no proxy is asked, whatever the environment names`() async throws {
    var shell = try Shell()
    let server = try FixtureServer(unixSocket: shell.file("s")) { request, connection in
      try connection.send(.ok(request.target))
    }
    shell.environment["http_proxy"] = "http://127.0.0.1:1"
    let run = try await shell.run("--unix-socket", "s", "http://a.example/path?x=1")
    // As to an origin: a proxy would be sent the whole URL.
    #expect(run.status == 0 && run.outputText == "/path?x=1", "\(run.outputText) \(run.errorText)")
    server.stop()
  }
}
