import DataService
import TestTurns
import Testing

@testable import RedisTier

@Suite("A tier's URL", .inTurn) struct RedisAddressTests {
  private let key = "key-file=/k"

  @Test func `each part of the URL says one thing`() throws {
    let whole = try RedisAddress(
      "rediss://cachefetch@cache.internal:6380/3?\(key)&password-file=/p&ca-file=/ca&cert-file=/c&cert-key-file=/ck"
        + "&patience=250ms&keep=2h&max-body=1M&accounts=ci,cd&plain-http=yes&read-only=yes")
    #expect(whole.endpoint.host == "cache.internal")
    #expect(whole.endpoint.port == 6_380)
    #expect(whole.endpoint.isSecure)
    #expect(whole.user == "cachefetch")
    #expect(whole.database == 3)
    #expect(whole.keyFile == "/k")
    #expect(whole.passwordFile == "/p")
    #expect(whole.endpoint.certificateAuthorityFile == "/ca")
    #expect(whole.endpoint.clientCertificateFile == "/c")
    #expect(whole.endpoint.clientKeyFile == "/ck")
    #expect(whole.patience == .milliseconds(250))
    #expect(whole.keep == .seconds(7_200))
    #expect(whole.terms.largestBody == 1 << 20)
    #expect(whole.terms.accounts == ["ci", "cd"])
    #expect(whole.terms.sharesPlainHTTP)
    #expect(whole.terms.isReadOnly)
  }

  @Test func `what is left out has a default`() throws {
    let plain = try RedisAddress("redis://127.0.0.1?\(key)")
    #expect(plain.endpoint == .init(host: "127.0.0.1", port: 6_379))
    #expect(plain.user.isEmpty)
    #expect(plain.database == 0)
    #expect(plain.patience == .milliseconds(95))
    #expect(plain.keep == .seconds(86_400))
    #expect(plain.terms == TierTerms())
    let six = try RedisAddress("redis://[::1]:7000/?\(key)")
    #expect(six.endpoint.host == "::1")
    let socket = try RedisAddress("redis+unix://user@/run/redis.sock?\(key)&password-file=/p&db=2")
    #expect(socket.endpoint.unixSocket == "/run/redis.sock")
    #expect(socket.user == "user")
    #expect(socket.database == 2)
    #expect(try RedisAddress("redis+unix:///run/r%20s?\(key)").endpoint.unixSocket == "/run/r s")
  }

  @Test func `the least and the most that a parameter may be are allowed`() throws {
    func parsed(_ parameter: String) throws -> RedisAddress {
      try RedisAddress("redis://h?\(key)&\(parameter)")
    }
    #expect(try parsed("patience=1ms").patience == .milliseconds(1))
    #expect(try parsed("patience=60s").patience == .seconds(60))
    #expect(try parsed("keep=1s").keep == .seconds(1))
    #expect(try parsed("keep=365d").keep == .seconds(31_536_000))
    #expect(try parsed("max-body=128M").terms.largestBody == 134_217_728)
    #expect(try parsed("db=65535").database == 65_535)
  }

  @Test(arguments: [
    ("http://h?key-file=/k", "scheme “http”"), ("nonsense", "the tier's URL"),
    ("redis://?key-file=/k", "host"), ("redis://a%20b?key-file=/k", "host"),
    ("redis://h", "no key-file"), ("redis://h?key-file=", "key-file"), ("redis://h:0?key-file=/k", "port"),
    ("redis://u:p@h?key-file=/k", "password"), ("redis://u@h?key-file=/k", "password-file"),
    ("redis://h/x?key-file=/k", "the path"), ("redis://h/70000?key-file=/k", "the path"),
    ("redis://h?key-file=/k#f", "fragment"), ("redis+unix://h/s?key-file=/k", "host"),
    ("redis+unix://?key-file=/k", "socket"), ("redis://h?key-file=/k&key-file=/j", "twice"),
    ("redis://h?key-file=/k&cert-file=/c", "cert-key-file"), ("redis://h?key-file=/k&ca-file=/c", "TLS"),
    ("redis://h?key-file=/k&patience=0ms", "patience"), ("redis://h?key-file=/k&patience=100", "patience"),
    ("redis://h?key-file=/k&patience=61s", "patience"), ("redis://h?key-file=/k&keep=0s", "keep"),
    ("redis://h?key-file=/k&patience=60001ms", "patience"),
    ("redis://h?key-file=/k&keep=999ms", "keep"), ("redis://h?key-file=/k&keep=31536001s", "keep"),
    ("redis://h?key-file=/k&max-body=134217729", "max-body"), ("redis://h?key-file=/k&db=65536", "db"),
    ("redis://h?key-file=/k&max-body=1G", "max-body"), ("redis://h?key-file=/k&max-body=-1", "max-body"),
    ("redis://h?key-file=/k&plain-http=true", "plain-http"),
    ("redis://h?key-file=/k&read-only=1", "read-only"),
    ("redis://h?key-file=/k&accounts=a,,b", "accounts"), ("redis://h?key-file=/k&db=x", "db"),
  ]) func `what is wrong is named, with what to do`(url: String, part: String) throws {
    let error = #expect(throws: DataServiceError.self) { try DataService.Tier.redis(url) }
    #expect(error?.kind == .invalidRequest)
    #expect(
      error?.message.contains(part) == true || error?.hint?.contains(part) == true, "\(error?.message ?? "")")
    #expect(error?.hint != nil || part == "fragment")
  }

  @Test func `an unknown parameter is named, with the one that is nearest`() {
    let near = #expect(throws: DataServiceError.self) {
      try RedisAddress("redis://h?key-file=/k&pacience=1s")
    }
    #expect(near?.message == "the tier's URL has an unknown parameter “pacience”")
    #expect(near?.hint == "did you mean patience?")
    let far = #expect(throws: DataServiceError.self) { try RedisAddress("redis://h?key-file=/k&something=1") }
    #expect(far?.hint?.hasPrefix("the parameters are key-file, ") == true)
  }
}
