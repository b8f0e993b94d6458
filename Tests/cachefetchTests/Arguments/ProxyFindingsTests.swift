import CacheStore
import Testing
import TestTurns

@testable import cachefetch

@Suite("What doctor says about proxies", .inTurn) struct ProxyFindingsTests {
  private func findings(_ variables: [String: String]) -> [StoreFinding] {
    ProxyFindings.all { variables[$0] }
  }

  @Test(
    "each variable that libcurl heeds is named with where it leads",
    arguments: [
      ("http_proxy", "http://proxy.example:3128"), ("https_proxy", "proxy.example"),
      ("ALL_PROXY", "socks5h://[::1]:1080"),
      ("no_proxy", "localhost,.example"), ("NO_PROXY", "*"),
    ])
  func heeded(name: String, value: String) {
    let found = findings([name: value])
    #expect(found.count == 1 && found[0].severity == .fine && found[0].message.contains(name))
    #expect(value == "*" || found[0].message.contains(value))
  }

  @Test("a value that leads nowhere is wrong", arguments: ["gopher://x", "http://", "://x", "http://:3128"])
  func wrong(value: String) {
    let found = findings(["all_proxy": value])
    #expect(found.map(\.severity) == [.wrong] && found[0].remedy != nil)
  }

  @Test(
    "credentials are not shown", arguments: ["http://me:geheim@h:1", "me:geheim@h:1", "socks5://geheim@h/x"])
  func credentials(value: String) {
    let found = findings(["https_proxy": value])
    #expect(
      found[0].severity == .fine && !found[0].message.contains("geheim") && found[0].message.contains("h"))
  }

  @Test func `HTTP_PROXY in upper case is not heeded, and that is said`() {
    #expect(findings(["HTTP_PROXY": "http://h:1"])[0].message.contains("not heeded"))
    #expect(findings(["HTTP_PROXY": "http://h:1", "http_proxy": "http://h:1"]).count == 1)
  }

  @Test func `where no variable is set, that is said`() {
    #expect(findings([:]).map(\.message) == ["none is set in the environment"])
    #expect(findings(["http_proxy": ""]).count == 1)
  }

  @Test func `a variable with a value is said to lead to its host, or to take hosts past the proxy`() {
    #expect(findings(["NO_PROXY": "*"]).map(\.message) == ["NO_PROXY takes every host past the proxy"])
    #expect(findings(["no_proxy": "a,b"]).map(\.message) == ["no_proxy takes a,b past the proxy"])
    #expect(
      findings(["http_proxy": "u:p@h:1/x"]).map(\.message) == ["http_proxy leads requests through h:1"]
        || findings(["http_proxy": "u:p@h:1/x"])[0].message.hasPrefix("http_proxy leads requests through h:1")
    )
    #expect(findings(["http_proxy": "http://a", "https_proxy": "http://b", "HTTP_PROXY": ""]).count == 2)
    #expect(findings(["HTTP_PROXY": "http://h:1", "http_proxy": ""]).count == 1)
  }

  @Test(arguments: [
    ("http://h:1/x", "h:1"), ("u:p@h:1", "h:1"), ("http://u@p@h", "h"), ("h", "h"), ("http://", ""), ("", ""),
  ]) func `the authority stands between the credentials and the path`(text: String, authority: String) {
    #expect(ProxyFindings.authority(text) == authority)
  }

  @Test func `that credentials are not shown is said where there are some`() {
    let led = "http_proxy leads requests through http://h:1"
    #expect(
      findings(["http_proxy": "http://u:p@h:1"]).map(\.message) == [led + " (its credentials are not shown)"])
    #expect(findings(["http_proxy": "http://h:1"]).map(\.message) == [led])
  }

  @Test func `a scheme ends where the first slashes are`() {
    #expect(findings(["all_proxy": "gopher://x://y"]).map(\.severity) == [.wrong])
    #expect(ProxyFindings.authority("http://a://b") == "a:")
    #expect(
      findings(["http_proxy": "http://h://x"]).map(\.message)
        == ["http_proxy leads requests through http://h:"])
  }
}
