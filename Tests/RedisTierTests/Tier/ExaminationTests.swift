import CacheStore
import DataService
import Testing
import TestTurns

@testable import RedisTier

@Suite("A look at the tier", .inTurn) struct ExaminationTests {
  @Test(arguments: [
    "*0\r\n", "+OK\r\n", "*1\r\n$16\r\nmaxmemory-policy\r\n", "*2\r\n$1\r\nx\r\n$16\r\nmaxmemory-policy\r\n",
    "*3\r\n$1\r\nx\r\n$1\r\ny\r\n$16\r\nmaxmemory-policy\r\n",
  ])
  func `settings that a server does not give in pairs are not read`(settings: String) async throws {
    let fleet = try ScriptedFleet(
      ScriptedRedis.answering { command, _ in
        switch command.first {
        case "CONFIG": settings
        case "PING": "+PONG\r\n"
        default: ScriptedRedis.plain(command)
        }
      })
    let machine = try Machine(fleet.url())
    let findings = await machine.run { await $0.examine() }
    let eviction = try #require(findings.first { $0.subject == "eviction" }, "\(findings)")
    #expect(eviction.message.contains("not visible"))
  }
}
