import Testing
import TestTurns

@testable import cachefetch

@Suite("What tells requests apart, as options", .inTurn) struct KeyExtraTests {
  @Test(arguments: [
    ("", ""), ("insecure", "-k"), ("unix=11:/run/a.sock", "--unix-socket /run/a.sock"),
    ("unix=10:/run/a b c insecure", "--unix-socket /run/a b c -k"),
    ("body=16:0123456789abcdef insecure", "-d 01234567… -k"),
    ("resolve=12:a:1:10.0.0.1 resolve=6:b:2::1", "--resolve a:1:10.0.0.1 --resolve b:2::1"),
    ("host=1:b", "-H Host:b"), ("authorities", "--cacert"),
    ("host=9:b.example insecure no-location", "-H Host:b.example -k --no-location"),
    ("other", "other"), ("other=1:x", "other=x"), ("unix=99:/x", ""), ("unix=0:", "--unix-socket"),
  ]) func `each part is shown as the option that it came from, a digest by its first digits`(
    extra: String, text: String
  ) {
    #expect(KeyExtra(extra).text == text)
  }
}
