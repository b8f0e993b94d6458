import DataService
import FixtureServer
import Foundation
import Testing
import TestTurns

@Suite("Hostile servers: one exchange", .inTurn) struct HostileServerTests {
  @Test("Each ends with its own kind of error", arguments: HostileServer.all)
  func exchange(server: HostileServer) async throws {
    let origin = try FixtureServer { _, connection in try server.answer(connection) }
    var request = TransportRequest(url: origin.url("/"))
    request.limits = server.limits
    var hasHead = false
    var kind: DataServiceError.Kind?
    var message = ""
    do throws(DataServiceError) {
      let response = try await CurlTransport().response(to: request)
      hasHead = true
      while let piece = try await response.body.next() { #expect(!piece.isEmpty) }
    } catch {
      kind = error.kind
      message = "\(error)"
    }
    #expect(kind == server.kind, "\(message)")
    #expect(hasHead == server.hasHead, "\(message)")
  }

  @Test("What is odd and harmless is taken", arguments: HostileServer.taken)
  func taken(answer: HostileServer.Taken) async throws {
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw(answer.bytes)
      connection.close()
    }
    let response = try await CurlTransport().response(to: TransportRequest(url: origin.url("/")))
    #expect(response.fields == answer.fields)
    var body = Data()
    while let piece = try await response.body.next() { body += piece }
    #expect(String(decoding: body, as: UTF8.self) == answer.body)
  }

  @Test func `the table has the breadth it claims`() {
    #expect(HostileServer.all.count >= 60)
    #expect(Set(HostileServer.all.map(\.name)).count == HostileServer.all.count)
  }
}
