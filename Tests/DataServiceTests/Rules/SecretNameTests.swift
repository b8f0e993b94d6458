import CacheStore
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// Which names of fields and parameters give a secret away, and where in a URL its value may stand (law 12).
@Suite("Secrets by name and place", .inTurn) struct SecretNameTests {
  private let secrets = SecretList()

  @Test(
    "fields that common APIs send credentials in are secret",
    arguments: [
      "Authorization", "Cookie", "Proxy-Authorization", "X-Auth-Key", "X-Plex-Token", "DD-API-KEY",
      "DD-APPLICATION-KEY", "Circle-Token", "X-Gitlab-Token", "X-Auth", "Token", "X-Auth-Email-Token",
      "X-Auth-Token", "X-Access-Token", "X-Api-Key", "ApiKey", "Api_Key", "X-API-Secret", "X-Client-Secret",
      "X-Amz-Security-Token", "X-Goog-Api-Key", "X-Functions-Key", "X-Vault-Token", "Private-Token",
      "Job-Token",
      "Deploy-Token", "Ocp-Apim-Subscription-Key", "X-Shopify-Access-Token",
      "X-Shopify-Storefront-Access-Token",
      "X-Session-Id", "X-Session", "X-User-Token", "X-Password", "X-Passwd", "X-Pwd", "X-Credentials",
      "X-Signature", "X-Hub-Signature-256", "Signature", "X-Hmac", "X-JWT", "X-JWT-Assertion", "X-OTP",
      "GitHub-OTP", "X-Figma-Token", "X-Rollbar-Access-Token", "Linode-Token", "X-Authentication",
      "X-Authorization", "X-Storage-Token", "X-Postmark-Server-Token", "X-Master-Key", "X-Bearer",
      "Fastly-Key",
      "AccessKey", "x-ms-client-principal-token", "X-Forwarded-Access-Token", "Travis-Api-Token", "X-Key",
    ])
  func fields(name: String) {
    for spelling in [name, name.lowercased(), name.uppercased()] {
      #expect(secrets.isSecretField(spelling), "\(spelling)")
    }
  }

  @Test(
    "fields that say nothing of who asks are not secret",
    arguments: [
      "Accept", "Accept-Language", "Accept-Encoding", "User-Agent", "Origin", "Referer", "Host", "Range",
      "Cache-Control", "If-None-Match", "Content-Type", "X-Requested-With", "X-Request-Id", "Traceparent",
      "Idempotency-Key", "Sec-WebSocket-Key", "Sec-Fetch-Mode", "X-Author", "X-Monkeys", "Prefer", "DNT",
    ])
  func harmlessFields(name: String) {
    #expect(!secrets.isSecretField(name))
  }

  @Test(
    "parameters that common APIs send credentials in are secret",
    arguments: [
      "private_token", "oauth_token", "api_token", "appid", "pass", "pwd", "X-Plex-Token", "AWSAccessKeyId",
      "access_token", "accessToken", "refresh_token", "id_token", "auth", "auth_token", "authToken",
      "authkey",
      "api_key", "apiKey", "apikey", "api-key", "key", "client_secret", "clientSecret", "secret", "password",
      "passwd", "passphrase", "user_password", "session", "sessionid", "session_id", "PHPSESSID",
      "jsessionid",
      "sid", "sig", "signature", "Signature", "hmac", "X-Amz-Signature", "X-Amz-Credential",
      "X-Amz-Security-Token", "X-Goog-Signature", "X-Goog-Credential", "Key-Pair-Id", "subscription-key",
      "jwt",
      "code", "otp", "pin", "ticket", "SAMLResponse", "client_assertion", "bearer", "appkey", "app_key",
      "oauth",
      "ssoToken", "csrf_token", "licenseKey", "userpass", "page_token",
    ])
  func parameters(name: String) {
    for spelling in [name, name.lowercased(), name.uppercased()] {
      #expect(secrets.isSecretParameter(spelling), "\(spelling)")
    }
  }

  @Test(
    "parameters that say nothing of who asks are not secret",
    arguments: [
      "q", "page", "id", "lang", "limit", "offset", "sort", "order", "author", "format", "callback", "v", "t",
      "utm_source", "from", "to", "lat", "lon", "category", "tags", "fields", "include", "state", "country",
      "zip", "spinner", "signal", "design", "sidebar", "outside", "keyword", "passenger",
    ])
  func harmlessParameters(name: String) {
    #expect(!secrets.isSecretParameter(name))
  }

  @Test func `names of the caller's own, and no patterns where none are wanted`() {
    var own = SecretList()
    own.fields.insert("x-tenant")
    own.parameters.insert("who")
    own.parameters.insert("_w_")
    #expect(own.isSecretField("X-Tenant") && own.isSecretParameter("WHO") && own.isSecretParameter("who[]"))
    #expect(own.isSecretParameter("_w_") && !own.isSecretParameter("w"))
    #expect(own.isSecretField("X-Auth-Key") && own.isSecretParameter("my_token"))
    own.includesPatterns = false
    own.fields = ["x-tenant"]
    own.parameters = ["who"]
    #expect(own.isSecretField("X-Tenant") && own.isSecretField("Cookie"))
    #expect(!own.isSecretField("X-My-Token") && !own.isSecretParameter("my_token"))
  }

  /// What follows the host; `S` is where the secret stands.
  static let places = [
    "/?token=S", "/?a=1;token=S", "/?x?token=S", "/?a=1&amp;token=S", "/?token[]=S", "/?token%5B%5D=S",
    "/?user[token]=S", "/?+token=S", "/?%20token=S", "/?%09token=S", "/?tok%65n=S", "/?TOKEN=S",
    "/?To%4ben=S",
    "/?a=1&;token=S", "/?token=S?b=2", "/?token=a=S", "/?token=S;b=2", "/?&&token=S&&", "/?a&token=S",
    "/p;token=S", "/p;token=S/q?b=1", "/p;v=1;jsessionid=S?b=1", "/p&token=S", "/token=S/p", "/?a.token=S",
    "/?token.=S", "/?u=https%3A%2F%2Fh%2F%3Fa%3D1%26token%3DS", "/?u=%2F%3Ftoken%3DS%26a%3D1",
    "/?u=https%253A%252F%252Fh%252F%253Ftoken%253DS", "/?u=/x?token=S", "/?%74%6F%6B%65%6E=S",
    "/?token=%53%45CRET-S", "/?token=S,b=2",
  ]

  private func url(_ place: String, _ secret: String) -> String {
    "http://a.test"
      + place.replacing("=S", with: "=\(secret)").replacing("%3DS", with: "%3D\(secret)")
      .replacing("%253DS", with: "%253D\(secret)")
  }

  @Test("the value is in no key and shown nowhere, and tells keys apart", arguments: places)
  func place(place: String) throws {
    let key = DigestKey(bytes: Array(repeating: 7, count: 32))
    func redacted(_ secret: String) throws -> String {
      try KeyRule.redacted(NormalisedURL(url(place, secret)), secrets: secrets, digest: key.digest)
    }
    let one = try redacted("SECRET-1")
    #expect(!one.contains("SECRET") && one.contains("~"))
    if !place.contains("%53") { #expect(try one != redacted("SECRET-2")) }
    #expect(try one == redacted("SECRET-1"))
    #expect(try NormalisedURL(one).string == one, "what is put in its place is as it was")
    let text = url(place, "SECRET-1")
    let shown = ShownURL.text(text)
    #expect(!shown.contains("SECRET") && !shown.contains("%53"), "\(shown)")
    #expect(ShownURL.text(shown) == shown)
    #expect(ShownURL.text(one) == one, "a digest is left as it is")
    let traced = secrets.withoutSecrets("go to <\(text)>; now")
    #expect(!traced.contains("SECRET") && !traced.contains("%53"), "\(traced)")
  }

  @Test
  func `in a text with several URLs each is shown without its secrets, and what stands between them stays`() {
    let text =
      #"from "http://u:p@a.test/?token=1" to <http://v:q@b.test/>, then http://c.test/?sig=2&x=3 (3 ms)"#
    #expect(
      secrets.withoutSecrets(text)
        == #"from "http://~@a.test/?token=~" to <http://~@b.test/>, then http://c.test/?sig=~&x=3 (3 ms)"#)
  }

  @Test("after a redirect a secret is in no head and in no file of the store", arguments: places)
  func redirected(place: String) async throws {
    let location = url(place, "SECRET-1")
    let fixture = try ServiceFixture.scripted { request, _ in
      request.url.path() == "/start"
        ? .answer("", status: 301, ["Location": location])
        : .answer("there", ["Vary": "X-Tenant", "ETag": "\"1\""])
    }
    let start = try #require(URL(string: "http://a.test/start"))
    let deliveries = await fixture.deliveries(start) { $0.fields = ["X-Tenant": "SECRET-2"] }
    #expect(deliveries.map(\.outline) == ["fresh(there, new)"])
    guard case .fresh(let response, _) = try #require(deliveries.first) else {
      Issue.record("nothing fresh")
      return
    }
    #expect(!response.head.url.contains("SECRET"))
    _ = await fixture.outline(start) { $0.fields = ["X-Tenant": "SECRET-2"] }
    #expect(fixture.requests.last?.fields["If-None-Match"] == "\"1\"", "the validator still finds its URL")
    await fixture.service.close()
    #expect(try !fixture.store.filesContain("SECRET"))
    #expect(try fixture.store.value("SELECT count(*) FROM last_request") == 1)
  }

  @Test(
    "a client certificate and unlisted credentials go to the URL's own origin only",
    arguments: ["http://b.test/", "https://a.test/", "http://a.test:81/"])
  func withheld(target: String) async throws {
    let folder = try TemporaryFolder()
    let certificate = try folder.write("a certificate", to: "a.pem")
    let fixture = try ServiceFixture.scripted { request, number in
      switch number {
      case 1: .answer("", status: 307, ["Location": "/own"])
      case 2: .answer("", status: 307, ["Location": target])
      default: .answer("there")
      }
    }
    let deliveries = await fixture.deliveries(try #require(URL(string: "http://a.test/start"))) {
      $0.connection.clientCertificateFile = certificate
      $0.connection.clientKeyFile = certificate
      $0.fields = ["X-Plex-Token": "SECRET", "DD-API-KEY": "SECRET", "Accept": "*/*"]
    }
    #expect(deliveries.map(\.outline) == ["fresh(there, new)"])
    let files = fixture.requests.map(\.connection.clientCertificateFile)
    #expect(files == [certificate, certificate, nil])
    #expect(fixture.requests.map(\.connection.clientKeyFile) == [certificate, certificate, nil])
    #expect(fixture.requests.map { $0.fields["X-Plex-Token"] } == ["SECRET", "SECRET", nil])
    #expect(
      fixture.requests[2].fields["DD-API-KEY"] == nil && fixture.requests[2].fields["Accept"] == "*/*")
    await fixture.service.close()
  }

  @Test func `a field that Vary names is stored as a digest unless it is known to be harmless`() async throws
  {
    let names = ["X-Tenant", "X-Custom", "Referer", "X-Forwarded-For", "My-Thing"]
    let fixture = try ServiceFixture.scripted { request, _ in
      .answer(
        "for \(request.fields["X-Tenant"] ?? "")",
        ["Vary": "Accept-Language, \(names.joined(separator: ","))"])
    }
    let url = try #require(URL(string: "http://a.test/"))
    for tenant in ["SECRET-1", "SECRET-2"] {
      var fields: HTTPFields = ["Accept-Language": "de"]
      for name in names { fields.append(name, tenant) }
      let own = fields
      #expect(await fixture.outline(url) { $0.fields = own } == ["fresh(for \(tenant), new)"], "\(tenant)")
      #expect(
        await fixture.outline(url, policy: .storedOnly) { $0.fields = own } == ["stored(for \(tenant))"],
        "\(tenant)")
    }
    let variants = try fixture.store.rows("SELECT variant FROM last_request").compactMap(\.first?.text)
    #expect(variants.count == 2 && variants.allSatisfy { $0.contains("accept-language: de") })
    #expect(variants.allSatisfy { !$0.contains("SECRET") })
    await fixture.service.close()
  }

  @Test
  func `of a response the fields on the list and those named are not stored, those that look like it are`()
    async throws
  {
    let fields: HTTPFields = [
      "X-Auth-Token": "listed-1", "X-Mine": "named-1", "Surrogate-Key": "kept-1", "X-Subject-Token": "kept-2",
      "Set-Cookie": "cookie=1",
    ]
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body", fields) }) {
      $0.secrets.fields.insert("x-mine")
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    let fresh = try #require(await fixture.deliveries(url).first)
    guard case .fresh(let response, _) = fresh else { throw Unexpected() }
    #expect(response.head.fields["X-Mine"] == "named-1", "what came is delivered")
    await fixture.service.close()
    for (value, isThere) in [("listed-1", false), ("named-1", false), ("cookie=1", false), ("kept-1", true)] {
      #expect(try fixture.store.filesContain(value) == isThere, "\(value)")
    }
    #expect(try fixture.store.filesContain("kept-2"), "as the body, it is what was asked for")
  }

  private struct Unexpected: Error {}
}
