import CFaultVFS
import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Big bodies: what happens to the store while one is under way", .inTurn) struct BigBodyTroubleTests {
  private static let chunk = 16_384

  /// An origin whose one resource the test replaces.
  private func changing(_ first: [UInt8]) throws -> (
    origin: FixtureServer, become: @Sendable ([UInt8]) -> Void
  ) {
    let current = Mutex(first)
    let route: FixtureServer.Route = { _ in
      let bytes = current.withLock { $0 }
      return .ok(bytes, ["ETag": "\"\(bytes.count) \(bytes.first ?? 0)\""])
    }
    return (try FixtureServer(routes: ["/big": route]), { bytes in current.withLock { $0 = bytes } })
  }

  @Test(
    "law 9: where the disk fills half way the body is delivered, kept says why, and the old row stays",
    arguments: [1 << 20, 12 << 20])
  func full(count: Int) async throws {
    let vfs = "full disk under \(count)"
    #expect(faultvfs_register(vfs) != 0)
    let (origin, become) = try changing(distinctBytes(100_000))
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk) { $0.store.vfs = vfs }
    #expect(try await fixture.streamed(origin.url("/big"), policy: .freshOnly).kept == .yes)
    let new = distinctBytes(count, seed: 2)
    become(new)
    // A chunk of two pages costs some twelve writes: about half of the chunks find room.
    faultvfs_arm(vfs, Int32(FAULT_WRITE), Int64(count / Self.chunk * 6), Int32(FAULT_FULL), 1)
    let delivered = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    #expect(delivered.bytes == new)
    #expect(delivered.kept == .no(.full))
    #expect(fixture.warnings.count == 1, "\(fixture.warnings)")
    faultvfs_arm(vfs, 0, 0, 0, 0)
    let old = try await fixture.streamed(origin.url("/big"), policy: .storedOnly)
    #expect(old.bytes == distinctBytes(100_000))
    // With room again nothing is left of the attempt, and the next one is kept.
    #expect(try await fixture.streamed(origin.url("/big"), policy: .freshOnly).kept == .yes)
    #expect(origin.requests().allSatisfy { $0["Range"] == nil })
    await fixture.service.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.store.value("SELECT count(*) FROM body WHERE checksum IS NULL") == 0)
    #expect(try await fixture.streamed(origin.url("/big"), policy: .storedOnly).bytes == new)
    await fixture.service.close()
  }

  /// On a disk of its own, in a mount namespace that ends with the child.
  @Test(
    "a download that fills the disk gives it back at once; what is stored can be removed without any room",
    arguments: [(disk: 24, body: 30), (6, 8)])
  func fullDisk(disk: Int, body: Int) async throws {
    let lines = try await driveOnDisk(of: disk, body: body)
    #expect(
      lines == [
        "first 98 kept", "big \(body << 20) full", "files short", "small 98 kept", "small 98 kept",
        "small 98 kept", "full 98 full", "removed 4", "left 0", "again 98 kept", "ok",
      ])
  }

  @Test func `on a disk that is too small for a store nothing is kept, and nothing is stuck`() async throws {
    let lines = try await driveOnDisk(of: 2, body: 3)
    #expect(
      lines == [
        "first 98 full", "big \(3 << 20) full", "files short", "small 98 full", "small 98 full",
        "small 98 full", "full 98 full", "cannot remove", "again 98 full", "ok",
      ])
  }

  private func driveOnDisk(of megabytes: Int, body: Int) async throws -> [String] {
    let big = [UInt8](repeating: 7, count: body << 20)
    let small = [UInt8](repeating: 8, count: 98)
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok(request.path == "/big" ? big : small, ["ETag": "\"1\""]))
    }
    let folder = try TemporaryFolder()
    let script =
      "mount -t tmpfs -o size=\(megabytes)m none \"$1\" && exec \"$0\" disk \"$1/store.sqlite\" \"$2\""
    let finished = try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--user", "--map-root-user", "--mount", "sh", "-c", script, try BuiltProduct.path("StoreDriver"),
        folder.path, origin.url,
      ])
    #expect(finished.errorText.isEmpty)
    return finished.outputText.split(separator: "\n").map(String.init)
  }

  @Test("a sign-out under the reader of a stored body ends its stream", arguments: [false, true])
  func signedOut(byAnother: Bool) async throws {
    let marker = Array("s3cret-body ".utf8)
    let content = Array(repeating: marker, count: 8 * Self.chunk / marker.count).flatMap { $0 }
    let (origin, _) = try changing(content)
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    var request = fixture.request(origin.url("/big"))
    request.account = .named("alice")
    for await delivery in fixture.service.streams(for: request, policy: .freshOnly) {
      guard case .fresh(let response, _) = delivery else { continue }
      #expect(try await response.value.all() == content)
    }
    let reading = try #require(
      try await fixture.storedStream(of: origin.url("/big"), account: .named("alice")))
    #expect(reading.first.count == Self.chunk)
    let other = try ServiceFixture(store: fixture.store) { $0.store.chunkBytes = Self.chunk }
    try await (byAnother ? other : fixture).service.signOut(.named("alice"))
    #expect(try !fixture.store.filesContain("s3cret-body"), "while the reader still holds its stream")
    #expect(await reading.stream.ending() == .signedOut)
    #expect(try await fixture.storedStream(of: origin.url("/big"), account: .named("alice")) == nil)
    await other.service.close()
    await fixture.service.close()
  }

  @Test func `a sign-out under the reader of a body that still arrives ends its stream and the exchange`()
    async throws
  {
    let isGone = Gate()
    let piece = [UInt8](repeating: 7, count: 1 << 20)
    let origin = try FixtureServer { _, connection in
      // Whether it is a piece that can no longer be sent, or the wait for the end, that notices.
      defer { isGone.open() }
      var head = FixtureReply.ok([UInt8](), ["Cache-Control": "no-store"])
      head.chunkSize = 1 << 20
      try connection.sendHead(head)
      for _ in 0..<12 { try connection.sendChunk(piece) }
      connection.waitForPeerClose()
    }
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    var request = fixture.request(origin.url("/live"))
    request.account = .named("alice")
    var endings: [DataServiceError.Kind?] = []
    for await delivery in fixture.service.streams(for: request, policy: .freshOnly) {
      guard case .fresh(let response, _) = delivery else { continue }
      #expect(try await response.value.next() != nil)
      try await fixture.service.signOut(.named("alice"))
      endings.append(await response.value.ending())
    }
    #expect(endings == [.signedOut])
    await isGone.wait()
    await fixture.service.close()
  }

  @Test func `a replaced body's stream goes on, and the body goes with it`() async throws {
    let content = distinctBytes(8 * Self.chunk)
    let (origin, become) = try changing(content)
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    _ = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    var reading = try await fixture.storedStream(of: origin.url("/big"))
    become(distinctBytes(9 * Self.chunk, seed: 2))
    #expect(try await fixture.streamed(origin.url("/big"), policy: .freshOnly).kept == .yes)
    await fixture.service.store.performMaintenance(budget: .seconds(60))
    #expect(try await #require(reading).stream.ending() == nil)
    reading = nil
    await fixture.service.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.store.value("SELECT count(*) FROM body") == 1)
    await fixture.service.close()
  }

  @Test func `a body that says it is too large for the store is told of, once and with its URL`() async throws
  {
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { _, _ in .answer(String(repeating: "x", count: 700_000)) }
    ) {
      $0.store.maximumBytes = 1 << 20
    }
    let url = try #require(URL(string: "http://origin.test/big"))
    for _ in 0..<2 {
      #expect(await fixture.deliveries(url, policy: .freshOnly).last?.kept == .no(.tooLarge))
    }
    #expect(
      fixture.warnings.map(\.message) == [
        "\(url): the body is larger than half the limit of the store \(fixture.store.path)"
      ])
    await fixture.service.close()
  }

  @Test func `a body over the limit is not kept to be resumed`() async throws {
    let content = distinctBytes(8 * Self.chunk)
    let origin = try FixtureServer { _, connection in
      var head = FixtureReply.ok([UInt8](), ["ETag": "\"1\""])
      head.chunkSize = 1
      try connection.sendHead(head)
      try connection.sendChunk(content)
      connection.waitForPeerClose()
    }
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    // The store is there whichever of the two comes first, its making or the end of the load.
    _ = try await fixture.service.store.accountID(named: "")
    var request = fixture.request(origin.url("/big"))
    request.limits.bodyBytes = Int64(4 * Self.chunk)
    var endings: [DataServiceError.Kind?] = []
    for await delivery in fixture.service.streams(for: request, policy: .freshOnly) {
      switch delivery {
      case .stored(let response), .fresh(let response, _): endings.append(await response.value.ending())
      case .failure(let error, _): endings.append(error.kind)
      }
    }
    #expect(endings == [.tooLarge])
    await fixture.service.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.store.value("SELECT count(*) FROM chunk") == 0)
    await fixture.service.close()
  }
}
