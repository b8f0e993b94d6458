import TestSupport
import TestTurns
import Testing

/// A program that returns from `main` while its service is at work; the exit handler is in `CCurl/Exit.c`.
@Suite("The end of a program", .inTurn) struct ExitTests {
  @Test func `a program may end while TLS connections are made, and what it has printed is written`()
    async throws
  {
    let certificates = try TestCertificates()
    try await certificates.makeSelfSigned("self", host: "self.test")
    let nginx = try NginxServer(
      server: "\(certificates.directives("self")) location / { return 200 'hello'; }", listen: "ssl")
    for round in 1...Self.rounds {
      let store = try TemporaryStore()
      let ended = try await ChildProcess.run(
        try BuiltProduct.path("StoreDriver"), ["leave", store.path, "\(nginx.port)"])
      #expect(ended.exit == .status(0), "round \(round): \(ended.errorText)")
      #expect(ended.outputText == "answered\n", "round \(round)")
    }
  }

  private static let rounds = 20
}
