import DataService
import Foundation
import Testing
import TestTurns

@Suite("Errors as an application meets them", .inTurn) struct DataServiceErrorTests {
  @Test func `what may hold an error is no larger for it`() {
    #expect(MemoryLayout<DataServiceError>.size == MemoryLayout<UnsafeRawPointer>.size)
  }

  @Test func `the message is what localizedDescription says, the hint what to do`() {
    let error: any Error = DataServiceError(.refused, "a.test refused the connection", hint: "start it")
    #expect(error.localizedDescription == "a.test refused the connection")
    #expect((error as? any LocalizedError)?.recoverySuggestion == "start it")
    #expect("\(error)" == "refused: a.test refused the connection; start it")
    #expect("\(DataServiceError(.dns, "no such host"))" == "dns: no such host")
  }

  @Test(
    "Each kind says whether it may succeed later without anybody's doing",
    arguments: [
      (.offline, true), (.dns, true), (.refused, true), (.unreachable, true), (.disconnected, true),
      (.timeout(.connect), true), (.timeout(.idle), true), (.timeout(.deadline), true), (.proxy, true),
      (.truncated, true), (.status, true), (.paused, true), (.tls("expired"), false), (.protocol, false),
      (.tooLarge, false), (.portal, false), (.undecodable, false), (.signedOut, false), (.notStored, false),
      (.cancelled, false), (.invalidRequest, false), (.closed, false),
    ] as [(DataServiceError.Kind, Bool)])
  func retryable(kind: DataServiceError.Kind, expected: Bool) {
    #expect(DataServiceError(kind, "").isRetryable == expected)
    #expect(DataServiceError(kind, "").isOffline == (kind == .offline))
    #expect(DataServiceError(kind, "").isCancelled == (kind == .cancelled))
  }

  @Test func `of statuses only those may succeed later that say so`() {
    for (status, expected) in [
      (404, false), (401, false), (408, true), (429, true), (500, true), (503, true),
    ] {
      #expect(DataServiceError(.status, "", status: status).isRetryable == expected, "\(status)")
    }
  }

  @Test func `any time limit and any reason of TLS can be told without their names`() {
    let timeouts = [DataServiceError.Kind.timeout(.connect), .timeout(.deadline)]
    #expect(timeouts.allSatisfy { $0.isTimeout && !$0.isTLS && DataServiceError($0, "").isTimeout })
    #expect(DataServiceError.Kind.tls("expired").isTLS && !DataServiceError.Kind.refused.isTimeout)
    #expect(
      "\(DataServiceError.Kind.timeout(.idle)) \(DataService.KeptReason.noStore)" == "timeout(idle) noStore")
  }
}
