import DataService
import PlatformFoundation
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: URLs", .inTurn) struct URLArgumentTests {
  private func failure(_ text: String) -> String? {
    do throws(UsageError) {
      _ = try URLArgument.parse(text)
      return nil
    } catch {
      return error.line
    }
  }

  @Test(
    "Whole URLs are taken",
    arguments: [
      "http://a", "https://a.example/b?c=d#e", "HTTP://A/", "http://u:p@a:8080/x", "http://[::1]:80/",
      "http://a:/", "http://a/?filter[name]=x", "http://a/[abc]", "http://a/{id}", "http://a/?q={a,b}",
      #"http://a/?q={"a":1,"b":2}"#, "http://[fe80::1]/", "http://a/[x-]",
    ])
  func taken(text: String) {
    #expect(failure(text) == nil)
  }

  @Test("What no URL may have is encoded, and what is encoded stays") func encoded() throws {
    let url = try URLArgument.parse("http://a/%20|?filter[name]=%2F")
    #expect(url.absoluteString == "http://a/%20%7C?filter%5Bname%5D=%2F")
  }

  @Test func `standard input is preload's`() throws {
    #expect(failure("-") == "“-” is not a URL; write cachefetch preload - to read URLs from standard input")
    #expect(try ArgumentParser.parse(["-"]).operands == ["-"])
  }

  @Test(
    "A missing scheme is answered with a proposal",
    arguments: [
      ("example.com", "https://example.com"), ("example.com:8080/x", "https://example.com:8080/x"),
      ("//a/b", "https://a/b"), ("localhost", "http://localhost"), ("127.0.0.1:80", "http://127.0.0.1:80"),
      ("localhost:80/x", "http://localhost:80/x"), ("localhost:90", "http://localhost:90"),
    ])
  func proposal(text: String, expected: String) {
    #expect(failure(text)?.hasSuffix("did you mean \(expected)?") == true, "\(failure(text) ?? "taken")")
  }

  @Test(
    "What is wrong is named",
    arguments: [
      ("", "empty"), ("ftp://a/", "“ftp”"), ("mailto:x@y", "“mailto”"), ("http:", "no host"),
      ("http:///x", "no host"),
      ("http://a b/", "%20"), ("http://a/\n", "%0A"), ("http://a:0/", "port"), ("http://a:99999/", "port"),
      ("http://a:x/", "port"), ("http://a:99999/", "invalid port 99999"), ("http://a:ü/", "port"),
      ("http://[::1/x", "no closing bracket"),
      ("/etc/passwd", "path of a file"), ("./x", "path of a file"), ("~/x", "path of a file"),
      (#"{"a":1}"#, "--json takes no value"), (#"{"a": 1}"#, "--json takes no value"),
      (#"[{"a":1}]"#, "--json takes no value"), ("http://a/[1-3].png", "pattern"),
      ("http://a/[a-c]", "pattern"), ("http://a/[0-9]", "pattern"),
      ("http://a/[01-10:2]", "pattern"), ("http://a/{x,y}/z", "pattern"),
      ("http://{a,b}.example/", "pattern"),
      ("http://a/?page=[1-3]", "pattern"), ("http://-ü.example/", "no valid name"),
      ("git+ssh://a/b", "“git+ssh”"), ("GIT+SSH://a/b", "“git+ssh”"), ("a-b://c/", "“a-b”"),
      ("a.b://c/", "“a.b”"), ("h2://a/", "“h2”"), ("view-source:http://a/", "“view-source”"),
      ("a+b:c", "“a+b”"),
    ])
  func named(text: String, part: String) {
    #expect(failure(text)?.contains(part) == true, "\(failure(text) ?? "taken")")
  }

  @Test func `no message shows a password`() {
    for text in [
      "http://u:geheim@/x", "http://u:geheim@a:x/", "u:geheim@a/x", "http://u:geheim@a b/",
      "http://u:ge/heim@a/", "http://u:geheim/x@a/", "http://a /?token=geheim", "a/?x=1&API_key=geheim#top",
      "http://u:ge[1-3]heim@a/", "http://u:{geheim,x}@a/", "http://u:geheim@[::1/", "http://u:geheim@-ü/",
    ] {
      #expect(failure(text)?.contains("heim") == false, "\(failure(text) ?? "taken")")
    }
  }

  @Test(
    "A URL is shown without credentials and the values of secret parameters",
    arguments: [
      ("http://u:geheim@a/b@c", "http://a/b@c"), ("http://a/b?c=d", "http://a/b?c=d"),
      ("http://a/b?token=geheim&c=d", "http://a/b?token=~&c=d"),
      ("http://a/b#token=geheim", "http://a/b#token=~"),
      ("http://a/b?c=d;SIG=geheim", "http://a/b?c=d;SIG=~"),
      ("http://a/b?acc%65ss_token=g", "http://a/b?acc%65ss_token=~"),
      ("http://a/b?token", "http://a/b?token"), ("http://[::1]:80/?key=k", "http://[::1]:80/?key=~"),
      ("http://a/?sig=~0123456789abcdef0123456789abcdef", "http://a/?sig=~0123456789abcdef0123456789abcdef"),
      ("", ""), ("?", "?"), ("@", ""), ("//u:p@a/", "//a/"),
    ])
  func shown(text: String, shown: String) {
    #expect(ShownURL.text(text) == shown)
  }

  @Test(
    "What is not printed in a URL is named as it would be encoded",
    arguments: [
      (" ", "a space in it; write it as %20"), ("\n", "a line break in it; write it as %0A"),
      ("\r", "a line break in it; write it as %0D"), ("\t", "a control character in it; write it as %09"),
      ("\u{F}", "a control character in it; write it as %0F"),
      ("\u{10}", "a control character in it; write it as %10"),
      ("\u{7F}", "a control character in it; write it as %7F"),
    ])
  func unprinted(character: String, part: String) {
    #expect(failure("http://a/\(character)")?.contains(part) == true)
  }

  @Test(arguments: [
    "http://a/!", "http://a/~", "http://a:1/", "http://a:65535/", "http://a/[@-z]", "http://a/[a-{]",
    "http://a/[ab-c]", "http://a/[a-bc]", "http://a/[1-2:3:4]", "http://a/[1-2:x]", "http://a/[1-]",
    "http://a/[12]",
    "http://a/[1-2", "http://a/{a,b:c}", "http://a/{a,b", "http://a/#{a,b}", "http://a/{\"a,b\"}",
    "http://a/[1-a]",
  ]) func `a URL just within what is allowed is taken`(text: String) {
    #expect(failure(text) == nil)
  }

  @Test(arguments: [
    ("http://a:65536/", "invalid port 65536"), ("http://a:0/", "invalid port 0"),
    ("http://a/[A-Z]", "pattern"), ("http://a/[z-z:2]", "pattern"),
    ("1http://a/", "no scheme"), ("@http://a/", "no scheme"), ("z://a/", "“z”"), ("a://a/", "“a”"),
    ("a{://a/", "no scheme"), ("http://:80/", "no host"), ("../x", "path of a file"),
    ("[\"a\"]", "--json takes no"), ("http://a:x1/", "is not a number"), ("a.b:80x/", "no scheme"),
    ("http:80", "no scheme"), ("http:/a", "no host"), ("http://a:9x/b@c", "%2F"),
    ("http://a:70000/b@c", "%2F"), ("http://a:0?b@c", "%3F"),
    ("http://[::1/b@c", "the address has no"), ("http://-ü/b@c", "the host is no valid name"),
  ]) func `a URL just outside what is allowed is refused, with the reason`(text: String, part: String) {
    #expect(failure(text)?.contains(part) == true, "\(failure(text) ?? "taken")")
  }

  @Test(arguments: ["http://user:70000/word@h/", "http://user:0/word@h/", "http://user:9x#word@h/"])
  func `half a password is not quoted`(text: String) throws {
    let message = try #require(failure(text))
    for part in ["user", "70000", "9x", "word@"] { #expect(!message.contains(part), "\(message)") }
  }

  @Test(arguments: [
    ("a.localhost/x", "http://a.localhost/x"), ("localhosts", "https://localhosts"),
    ("[::1]:80/x", "http://[::1]:80/x"), ("128.0.0.1", "https://128.0.0.1"),
    ("//127.0.0.1/", "http://127.0.0.1/"),
  ]) func `this machine is asked without TLS`(text: String, proposal: String) {
    #expect(URLArgument.proposal(for: text) == proposal)
  }
}
