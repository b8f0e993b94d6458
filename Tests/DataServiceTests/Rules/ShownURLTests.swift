import DataService
import Testing
import TestTurns

@Suite("URLs as they are shown, law 12", .inTurn) struct ShownURLTests {
  static let digest = "~0123456789abcdef0123456789abcdef"
  static let cases: [(text: String, shown: String)] = [
    ("", ""), ("http://h/", "http://h/"), ("http://u:p@h/x", "http://h/x"), ("HTTPS://u@h", "HTTPS://h"),
    ("a+b-c.1://u@h/x@y", "a+b-c.1://h/x@y"), ("http://u@v@h/", "http://h/"),
    // User-info ends with the authority.
    ("http://h/x@y", "http://h/x@y"), ("http://h?x@y", "http://h?x@y"), ("http://h#x@y", "http://h#x@y"),
    // A password with a slash in it, and what only looks like one.
    ("http://u:pa/ss@h/", "http://h/"), ("http://u:p/q@v/w@h/", "http://h/"),
    ("http://h:80/x@y", "http://h:80/x@y"),
    ("http://h:09/x@y", "http://h:09/x@y"), ("http://h:/x@y", "http://h:/x@y"),
    ("http://h:8a/x@y", "http://y"), ("http://h:65535/x@y", "http://h:65535/x@y"),
    ("http://u:65536/x@h/", "http://h/"), ("http://u:0/x@h/", "http://h/"),
    ("http://u:123456789012345678901/x@h/", "http://h/"),
    ("http://[::1]/x@y", "http://[::1]/x@y"), ("http://[::1]:80/x@y", "http://[::1]:80/x@y"),
    ("http://h/x:a@y", "http://h/x:a@y"),
    // What is not well-formed is cut at the last sign.
    ("http:/u:p@h/a@b", "http:/b"), ("http:u:p@h/a@b", "http:b"), ("http:///u@h/a@b", "http:///b"),
    ("http:\\\\u@h/a@b", "http:\\\\b"), ("http://u@h/ a@b", "http://b"), ("http://u@h/!a@b", "http://h/!a@b"),
    ("://u:p@h/a@b", "://b"), ("a://u@h/b@c", "a://h/b@c"), ("u:p@h/a@b", "b"), ("//u@h/a@b", "//b"),
    ("foo:u@h", "h"), ("fo_o://u@h/a@b", "b"), ("http://", "http://"), ("http:", "http:"),
    // Secret parameters.
    ("http://h/?token=1&x=2", "http://h/?token=~&x=2"), ("h/?token=1", "h/?token=~"),
    ("http://h/?token=\(digest)", "http://h/?token=\(digest)"),
    ("http://h/?token=\(digest)0", "http://h/?token=~"),
    ("http://h/?token=\(digest.dropLast())", "http://h/?token=~"),
    ("http://h/?token=\(digest.dropLast())g", "http://h/?token=~"),
    ("http://h/?token=\(digest.dropLast())F", "http://h/?token=~"),
    ("http://h/?token=\(digest.dropLast()):", "http://h/?token=~"),
    ("http://h/?token=\(digest.dropLast())`", "http://h/?token=~"),
    ("http://h/?token=\(digest.dropLast())/", "http://h/?token=~"),
    ("http://h/?token=0\(digest.dropFirst())", "http://h/?token=~"),
  ]

  @Test("User-info and secret values are left out, whatever else is wrong") func table() {
    for (text, shown) in Self.cases { #expect(ShownURL.text(text) == shown, "\(text)") }
  }

  @Test("The list is the caller's") func ownList() {
    var secrets = SecretList()
    secrets.parameters = ["x"]
    secrets.includesPatterns = false
    #expect(ShownURL.text("http://h/?token=1&x=2", secrets: secrets) == "http://h/?token=1&x=~")
  }
}
