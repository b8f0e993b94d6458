import CacheStore
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService

@Suite("The key of the digests, seen from a service", .inTurn) struct ServiceDigestKeyTests {
  @Test func `whoever is told that the key is damaged may ask for a digest in the warning`() async throws {
    let store = try TemporaryStore()
    try Data("no key".utf8).write(to: URL(filePath: store.path + ".key"))
    var request = DataService.Request(try #require(URL(string: "http://origin.test/item")))
    request.fields.append("Authorization", "Bearer one")
    let asker = Mutex<DataService?>(nil)
    let said = Mutex<[String]>([])
    let fixture = try ServiceFixture(store: store, transport: ScriptedTransport { _, _ in .answer("body") }) {
      $0.onWarning = { [request] warning in
        said.withLock { $0.append(warning.message) }
        #expect(throws: Never.self) { _ = try asker.withLock { $0 }?.key(for: request) }
      }
    }
    asker.withLock { $0 = fixture.service }
    #expect(try fixture.service.key(for: request).account.hasPrefix("auto:"))
    #expect(said.withLock { $0 }.count == 1 && said.withLock { $0 }[0].contains("digest key"))
    await fixture.service.close()
    asker.withLock { $0 = nil }
  }
}
