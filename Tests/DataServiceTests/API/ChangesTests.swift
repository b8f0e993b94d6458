import CacheStore
import DataService
import DataServiceTesting
import PlatformC
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@Suite("Changes to what is stored", .inTurn) struct ChangesTests {
  private static let url = "http://example.test/feed"

  private func numbered() -> ScriptedTransport {
    ScriptedTransport { _, number in .answer("body \(number)") }
  }

  @Test func `changes(to:) yields the newest row, written by this service or another, and nil when it goes`()
    async throws
  {
    let transport = numbered()
    let store = try TemporaryStore()
    let observer = try ServiceFixture(store: store, transport: transport)
    let writer = try ServiceFixture(store: store, transport: transport)
    let url = try #require(URL(string: Self.url))
    var changes = observer.service.changes(to: .init(url)).makeAsyncIterator()
    #expect(isNothing(try await changes.next()))
    _ = await writer.outline(url)
    #expect(try await changes.next()??.text == "body 1")
    _ = await observer.outline(url)
    #expect(try await changes.next()??.text == "body 2")
    try await writer.service.remove(.all)
    #expect(isNothing(try await changes.next()))
  }

  @Test func `changes(to:) end when the service closes, and at once where it has been`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    var changes = fixture.service.changes(to: .init(url)).makeAsyncIterator()
    #expect(try await changes.next()??.text == "body")
    await fixture.service.close()
    #expect(try await changes.next() == nil)
    var later = fixture.service.changes(to: .init(url)).makeAsyncIterator()
    #expect(try await later.next() == nil)
  }

  // The portable build has nothing on Linux that tells: there an observer asks again and again.
  #if !PORTABLE
    @Test func `while nothing happens, an observer waits for nothing but to be told`() async throws {
      let clock = VirtualClock()
      let store = try TemporaryStore()
      let writer = try ServiceFixture(store: store, transport: numbered())
      let url = try #require(URL(string: Self.url))
      _ = await writer.outline(url)
      // Whatever else it has to write is written.
      await writer.service.close()
      let observer = try ServiceFixture(store: store, transport: numbered(), timekeeper: clock)
      var changes = observer.service.changes(to: .init(url)).makeAsyncIterator()
      #expect(try await changes.next()??.text == "body 1")
      // However long a process is held up in the middle of its commit, within reason.
      for delay in [16, 80, 400, 1_900, 9_500, 47_500].map({ Duration.milliseconds($0) }) {
        await clock.whenPending(for: delay)
        #expect(clock.pendingDelays == [delay], "\(delay)")
        clock.advance(by: delay)
      }
      #expect(clock.pendingDelays.isEmpty)
      // The next timer is set by the next commit.
      let next = try ServiceFixture(store: store, transport: ScriptedTransport { _, _ in .answer("another") })
      _ = await next.outline(url)
      await clock.whenPending(within: .milliseconds(10))
      clock.advance(by: .milliseconds(10))
      #expect(try await changes.next()??.text == "another")
    }

    @Test func `a store that could not be opened for one read is observed on`() async throws {
      let clock = VirtualClock()
      let store = try TemporaryStore()
      let observer = try ServiceFixture(store: store, transport: numbered(), timekeeper: clock)
      let url = try #require(URL(string: Self.url))
      var changes = observer.service.changes(to: .init(url)).makeAsyncIterator()
      #expect(isNothing(try await changes.next()))
      await clock.whenPending(for: .milliseconds(16))
      try FileManager.default.createDirectory(atPath: store.path, withIntermediateDirectories: false)
      await clock.whenPending(within: .milliseconds(10))
      clock.advance(by: .milliseconds(10))
      // The read has failed once this timer is set.
      await clock.whenPending(for: .milliseconds(16))
      #expect(rmdir(store.path) == 0)
      let writer = try ServiceFixture(store: store, transport: numbered())
      _ = await writer.outline(url)
      await clock.whenPending(within: .milliseconds(10))
      clock.advance(by: .milliseconds(10))
      #expect(try await changes.next()??.text == "body 1")
    }
  #endif

  @Test func `a store that is removed with its folder, and made again, is observed on`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("caches/app/store.sqlite")
    let transport = numbered()
    func service() -> DataService {
      var configuration = DataService.Configuration(store: .unhurried(path: path))
      // However busy the machine is, what is written is waited for.
      configuration.timeouts = .endless
      return DataService(configuration: configuration, transport: transport)
    }
    let observer = service()
    let url = try #require(URL(string: Self.url))
    var changes = observer.changes(to: .init(url)).makeAsyncIterator()
    #expect(isNothing(try await changes.next()))
    for number in 1...10 {
      let writer = service()
      let written = try await writer.response(for: .init(url), policy: .freshOnly)
      #expect(written.kept == .yes, "\(written.kept)")
      #expect(try await changes.next()??.text == "body \(number)")
      await writer.close()
      try removeWhileObserved(folder.file("caches"))
      #expect(isNothing(try await changes.next()))
    }
    await observer.close()
  }

  /// Removes a folder as `rm -rf` does. The observer's look may make the log's index anew between the two steps of a
  /// removal, which is then repeated.
  private func removeWhileObserved(_ path: String) throws {
    for _ in 0..<100 {
      do { return try FileManager.default.removeItem(atPath: path) } catch {
        guard FileManager.default.fileExists(atPath: path) else { return }
      }
    }
    try FileManager.default.removeItem(atPath: path)
  }

  @Test func `where there can be no store, or no such request, the sequence says why`() async throws {
    let folder = try TemporaryFolder()
    let service = DataService(
      configuration: .init(store: .unhurried(path: folder.path)), transport: numbered())
    let url = try #require(URL(string: Self.url))
    var changes = service.changes(to: .init(url)).makeAsyncIterator()
    await #expect {
      _ = try await changes.next()
    } throws: { ($0 as? DataServiceError)?.kind == .store }
    let other = try #require(URL(string: "mailto:a@example.test"))
    var refused = service.changes(to: .init(other)).makeAsyncIterator()
    await #expect {
      _ = try await refused.next()
    } throws: { ($0 as? DataServiceError)?.kind == .invalidRequest }
    await service.close()
  }
}

/// Whether the sequence went on, and with no row.
private func isNothing(_ element: DataService.Response<Data>??) -> Bool {
  if case .some(.none) = element { return true }
  return false
}
