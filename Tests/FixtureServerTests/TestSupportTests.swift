import FixtureServer
import PlatformC
import TestSupport
import Testing
import TestTurns

@Suite("Test support", .inTurn) struct TestSupportTests {
  @Test func `a temporary folder goes with its last reference`() throws {
    var folder: TemporaryFolder? = try TemporaryFolder()
    let path = try #require(folder?.path)
    try folder?.write("x", to: "file")
    #expect(folder?.contains("file") == true)
    folder = nil
    #expect(access(path, F_OK) != 0)
  }

  @Test func `rows are read past the store`() throws {
    let store = try TemporaryStore()
    _ = try RawDatabase(store.path, create: true)
    try store.execute("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (NULL, x'00ff'), (0.5, '')")
    #expect(try store.rows("SELECT * FROM t") == [[1, "x"], [nil, .blob([0, 255])], [.real(0.5), ""]])
    #expect(try store.value("SELECT count(*) FROM t") == 3)
    #expect(throws: RawDatabase.Failed.self) { try store.rows("SELECT nothing FROM nowhere") }
  }

  @Test func `bytes are found wherever they lie in the store's folder`() throws {
    let store = try TemporaryStore()
    try store.folder.write("....secret...", to: "store.sqlite-wal")
    #expect(try store.filesContain("secret"))
    #expect(try !store.filesContain("secret!"))
  }

  @Test func `a seed gives the same numbers again`() {
    var first = SeededGenerator(seed: 7)
    var second = SeededGenerator(seed: 7)
    #expect(first.bytes(100) == second.bytes(100))
    #expect(first.seed == 7)
  }

  @Test func `nginx serves, is refused when stopped, and comes back on its port`() async throws {
    let nginx = try NginxServer(server: "location = /hello { return 200 'hi'; }")
    try nginx.publish(Array("file body".utf8), as: "file")
    for _ in 1...3 {
      let client = try RawClient(port: nginx.port)
      #expect(try client.exchange("GET /file HTTP/1.1\r\nHost: h\r\n\r\n").hasSuffix("file body"))
      #expect(try client.exchange("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n").hasSuffix("hi"))
      await nginx.stop()
      #expect(throws: RawClient.Refused.self) { try RawClient(port: nginx.port) }
      try nginx.start()
    }
  }
}
