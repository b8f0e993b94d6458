import CacheStore
import DataService
import PlatformFoundation
import Testing
import TestTurns

@Suite("Stored fields, RFC 9111 section 3.1", .inTurn) struct StoredFieldsTests {
  @Test(
    "Fields of the connection, of the proxy and cookies are not stored",
    arguments: [
      "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
      "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization", "Set-Cookie", "Set-Cookie2",
    ])
  func dropped(name: String) {
    var fields: HTTPFields = ["X": "1"]
    fields.append(name, "value")
    fields.append(name.lowercased(), "value")
    #expect(StoredFields.storable(fields) == ["X": "1"])
  }

  @Test("Fields that Connection names are not stored") func named() {
    let fields: HTTPFields = ["Connection": "a, B", "A": "1", "b": "2", "c": "3", "connection": "close"]
    #expect(StoredFields.storable(fields) == ["c": "3"])
  }

  @Test("However many fields Connection names, those are not stored") func manyNamed() {
    let names = (0..<20_000).map { "n\($0)" }
    let fields: HTTPFields = ["Connection": names.joined(separator: ","), "N19999": "1", "n20000": "2"]
    #expect(StoredFields.storable(fields) == ["n20000": "2"])
  }

  @Test(
    "A length that a transfer coding has overruled is not stored", arguments: ["chunked", "identity", ""])
  func overruled(coding: String) {
    let fields: HTTPFields = ["Content-Length": "3", "Transfer-Encoding": coding, "X": "1"]
    #expect(StoredFields.storable(fields) == ["X": "1"])
    #expect(StoredFields.storable(["Content-Length": "3"]) == ["Content-Length": "3"])
  }

  @Test("Secret fields are not stored") func secret() {
    let fields: HTTPFields = ["X-Auth-Token": "secret", "X": "1"]
    #expect(StoredFields.storable(fields, secretNames: ["x-auth-token"]) == ["X": "1"])
  }

  @Test(
    "Every other field is stored as received",
    arguments: [
      "Content-Type", "Cache-Control", "Clear-Site-Data", "Strict-Transport-Security", "WWW-Authenticate",
      "X",
    ])
  func kept(name: String) {
    var fields = HTTPFields()
    fields.append(name, "value")
    #expect(StoredFields.storable(fields) == fields)
  }

  @Test("A response without a Date gets that of its receipt, one with a Date keeps it") func date() {
    #expect(StoredFields.storable([:], receivedAt: Rule.noon) == ["Date": Rule.date()])
    #expect(StoredFields.storable(["Date": "x"], receivedAt: Rule.noon) == ["Date": "x"])
    #expect(StoredFields.storable([:]).isEmpty)
  }
}
