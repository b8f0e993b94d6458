import CacheStore
import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: heads", .inTurn) struct HeadTextTests {
  private func text(isStored: Bool = false, _ change: (inout DataService.ResponseHead) -> Void = { _ in })
    -> String
  {
    String(
      decoding: HeadText.bytes(Sample.head(isStored: isStored, change), isStored: isStored), as: UTF8.self)
  }

  @Test func `a fresh one is as it was received, with those before it`() {
    #expect(text() == "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    let early = text { $0.interim = [.init(status: 103, fields: ["Link": "</a>"])] }
    #expect(
      early == "HTTP/1.1 103 \r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
  }

  @Test func `a stored one has its age, in place of the one it came with, and Cache-Status`() {
    let stored = text(isStored: true) { $0.fields = ["Age": "7", "Cache-Status": "other; hit"] }
    #expect(
      stored
        == "HTTP/1.1 200 OK\r\nCache-Status: other; hit\r\nAge: 5\r\nCache-Status: cachefetch; hit; ttl=-5\r\n\r\n"
    )
  }
}
