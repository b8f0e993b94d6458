import DataService
import FoundationEssentials
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: values", .inTurn) struct ValueTests {
  @Test(
    "Durations",
    arguments: [
      ("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("2h", 7_200_000), ("7d", 604_800_000),
      ("1.5s", 1_500),
      ("0s", 0), ("5", 5_000), ("0.5", 500), ("36500d", 3_153_600_000_000), ("36501d", nil), ("", nil),
      ("s", nil), ("-1s", nil), ("1.s", nil), ("1..5s", nil), ("1e3s", nil),
      ("99999999999999999999s", nil), ("99999999d", nil), ("5 m", nil), ("٣s", nil),
    ] as [(String, Int64?)])
  func duration(text: String, milliseconds: Int64?) {
    #expect(DurationText.parse(text) == milliseconds.map { .milliseconds($0) })
  }

  @Test(
    "What is too long is a duration all the same",
    arguments: [
      ("99999999d", true), ("99999999999999999999", true), ("36501d", true), ("36500d", false), ("5m", false),
      ("12345x", false), ("soon", false), ("1..5s", false), ("12345.s", false), ("", false),
    ])
  func tooLong(text: String, isTooLong: Bool) {
    #expect(DurationText.isTooLong(text) == isTooLong)
  }

  @Test(
    "Sizes",
    arguments: [
      ("64k", 65_536), ("10M", 10_485_760), ("1G", 1_073_741_824), ("512", 512), ("1.5k", 1_536),
      ("2KiB", 2_048),
      ("", nil), ("k", nil), ("-1", nil), ("1x", nil), ("99999999999999T", nil),
    ] as [(String, Int64?)])
  func size(text: String, bytes: Int64?) {
    #expect(SizeText.parse(text) == bytes)
  }

  @Test(
    "Suggestions",
    arguments: [
      ("offlin", "offline"), ("ofline", "offline"), ("ignroe-path", "ignore-path"), ("xyz", nil),
      ("inc", "include"),
    ] as [(String, String?)])
  func suggestion(name: String, expected: String?) {
    #expect(Suggestion.nearest(to: name, among: OptionName.allCases.map(\.rawValue)) == expected)
  }

  @Test func `two neighbours that changed places are one slip`() {
    #expect(Suggestion.editDistance(Array("lsit".utf8), Array("list".utf8)) == 1)
    #expect(Suggestion.editDistance(Array("".utf8), Array("list".utf8)) == 4)
    #expect(Suggestion.editDistance(Array("list".utf8), Array("list".utf8)) == 0)
  }
}

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

  @Test(
    "A missing scheme is answered with a proposal",
    arguments: [
      ("example.com", "https://example.com"), ("example.com:8080/x", "https://example.com:8080/x"),
      ("//a/b", "https://a/b"), ("localhost", "http://localhost"), ("127.0.0.1:80", "http://127.0.0.1:80"),
      ("localhost:80/x", "http://localhost:80/x"),
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
      ("http://a/[a-c]", "pattern"),
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

  @Test(
    "A host that is not in ASCII is encoded, as curl does",
    arguments: [
      ("http://bücher.example/a", "http://xn--bcher-kva.example/a"),
      (
        "https://u:p@BÜCHER.example:8080/ü?ö#ä", "https://u:p@xn--bcher-kva.example:8080/%C3%BC?%C3%B6#%C3%A4"
      ),
      ("http://straße.example", "http://xn--strae-oqa.example"),
      ("http://bücher.example/@alice", "http://xn--bcher-kva.example/@alice"),
      ("http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/"),
    ])
  func international(text: String, encoded: String) throws {
    #expect(try URLArgument.parse(text).absoluteString == encoded)
  }

  @Test func `without the library that encodes hosts the message says how`() throws {
    #expect(throws: UsageError.self) { try InternationalHost.encoded("bücher.example", library: "none.so") }
    do throws(UsageError) {
      _ = try InternationalHost.encoded("bücher.example", library: "none.so")
    } catch {
      #expect(error.line.contains("libidn2-0") && error.line.contains("xn--"))
    }
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
    "A URL as it is shown",
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
}
