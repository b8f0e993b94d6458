import CacheStore
import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

@Suite("Heads under -v", .inTurn) struct HeadTraceTests {
  private let trace = HeadTrace(secrets: SecretList())

  @Test func `a request is shown as by curl, its secrets left out`() throws {
    let url = try NormalisedURL("https://user:geheim@api.example.com:8443/a?page=2&access_token=geheim&x=1")
    let fields: HTTPFields = [
      "Accept-Language": "de", "Authorization": "Bearer geheim", "Cookie": "id=geheim",
      "X-API-Key": "geheim", "Referer": "https://a:geheim@b.example/?token=geheim",
    ]
    #expect(
      trace.request(.get, url, fields) == [
        "> GET /a?page=2&access_token=~&x=1", "> Host: api.example.com:8443", "> Accept-Language: de",
        "> Authorization: (not shown)", "> Cookie: (not shown)", "> X-API-Key: (not shown)",
        "> Referer: https://~@b.example/?token=~", ">",
      ])
    #expect(trace.request(.get, url, [:], isHTTP11Only: true).first?.hasSuffix(" HTTP/1.1") == true)
  }

  @Test func `a request's URL is shown as it is sent, and no mark in it ends a secret`() throws {
    let url = try NormalisedURL("http://h/%7ea/./b?x=[1]&token=ge'hei,m\"x<y&z={1}")
    #expect(trace.request(.get, url, [:]).first == "> GET /%7ea/./b?x=[1]&token=~&z={1} HTTP/1.1")
  }

  @Test func `an answer is shown with those before it`() {
    let response = TransportResponse(
      version: "1.1", status: 302, reason: "Found",
      fields: [
        "Location": "/next?code=geheim#top", "Set-Cookie": "id=geheim",
        "Link": "<https://c.example/?sig=geheim&p=1>; rel=\"next\"",
      ],
      interim: [.init(status: 103, fields: ["Link": "</style.css>; rel=preload"])],
      body: .init(whole: .init()))
    #expect(
      trace.response(response) == [
        "< HTTP/1.1 103", "< Link: </style.css>; rel=preload", "<", "< HTTP/1.1 302 Found",
        "< Location: /next?code=~#top", "< Set-Cookie: (not shown)",
        "< Link: <https://c.example/?sig=~&p=1>; rel=\"next\"", "<",
      ])
  }

  @Test func `what an answer sets is not shown, whatever the list of secrets says`() {
    var secrets = SecretList()
    secrets.fields = []
    secrets.includesPatterns = false
    let fields: HTTPFields = [
      "set-cookie": "id=geheim", "Set-Cookie2": "id=geheim", "Authentication-Info": "geheim", "X-Cookie": "1",
    ]
    let response = TransportResponse(version: "1.1", status: 200, fields: fields, body: .init(whole: .init()))
    #expect(
      HeadTrace(secrets: secrets).response(response) == [
        "< HTTP/1.1 200", "< set-cookie: (not shown)", "< Set-Cookie2: (not shown)",
        "< Authentication-Info: (not shown)", "< X-Cookie: 1", "<",
      ])
  }

  @Test func `HTTP/2 has no reason; a Host of the caller's own is the one shown`() throws {
    let response = TransportResponse(version: "2", status: 204, fields: [:], body: .init(whole: .init()))
    #expect(trace.response(response) == ["< HTTP/2 204", "<"])
    let url = try NormalisedURL("http://127.0.0.1/")
    #expect(
      trace.request(.head, url, ["Host": "a.example"]) == ["> HEAD / HTTP/1.1", "> Host: a.example", ">"])
  }
}
