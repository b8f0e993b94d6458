import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore
@testable import DataService
@testable import cachefetch

@Suite("Command: export of a store with damaged rows", .inTurn) struct BundleCommandsTests {
  /// A store with two entries, of which those are damaged.
  private func prepared(damaging condition: String) async throws -> TemporaryStore {
    let place = try TemporaryStore()
    let store = ResponseStore(configuration: .unhurried(path: place.path))
    let account = try await store.accountID(named: "")
    for number in 1...2 {
      _ = try await store.overwrite(
        ResponseStore.Write(
          accountID: account, key: RequestKey(target: "http://a.example/\(number)"), started: .now,
          status: 200, fields: ["ETag": "\"1\""], receivedAt: 1, body: .bytes(Data([0x61]))))
    }
    await store.close()
    try place.execute("UPDATE last_request SET status = 201 WHERE \(condition)")
    return place
  }

  /// The status of a verb, and what it says.
  @MainActor private func run(
    _ words: [String], _ verb: (StoreCommands) throws -> Status
  ) throws -> (status: Status, said: String) {
    let streams = try WrittenStreams()
    let status = try verb(StoreCommands(try ArgumentParser.parse(words), streams.diagnostics))
    return (status, streams.errors.text)
  }

  @Test @MainActor func `the others are exported, and what cannot be read whole is counted`() async throws {
    let place = try await prepared(damaging: "target LIKE '%/1'")
    let file = place.folder.file("copy.cfx")
    let exported = try run(["export", "--store", place.path, file]) { try $0.export() }
    #expect(exported.status == .success)
    #expect(
      exported.said == "exported 1 stored response; left out: 1 that cannot be read whole\n")
    // What is there already is not imported again.
    let other = try TemporaryStore()
    for (count, leftOut) in [
      ("1 stored response", ""), ("0 stored responses", "; left out: 1 no newer than what is stored"),
    ] {
      let taken = try run(["import", "--store", other.path, file]) { try $0.importBundle() }
      #expect(taken.status == .success && taken.said == "imported \(count)\(leftOut)\n", "\(taken.said)")
    }
  }

  @Test @MainActor func `where none is left nothing is exported, and the file stays as it was`() async throws
  {
    let place = try await prepared(damaging: "1")
    let file = try place.folder.write("before", to: "copy.cfx")
    let exported = try run(["export", "--store", place.path, file]) { try $0.export() }
    #expect(exported.status == .nothing)
    let said = "nothing is exported: no stored response matches; left out: 2 that cannot be read whole"
    #expect(exported.said == "cachefetch: \(said)\n")
    #expect(try place.folder.names().filter { $0.hasPrefix("copy") } == ["copy.cfx"])
    #expect(try place.folder.text(of: "copy.cfx") == "before")
  }
}
