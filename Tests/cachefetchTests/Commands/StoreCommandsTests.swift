import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore
@testable import DataService
@testable import cachefetch

@Suite("Command: rm and the pauses of origins", .inTurn) struct StoreCommandsTests {
  /// A store with a pause of nobody's and one of alice's, and one entry.
  private func prepared() async throws -> TemporaryStore {
    let place = try TemporaryStore()
    let store = ResponseStore(configuration: .unhurried(path: place.path))
    for (account, responder) in [("", "http://a.example"), ("alice", "http://b.example:8080")] {
      let id = try await store.accountID(named: account)
      try await store.pause(
        accountID: id, responder: responder, Pause(heard: .now, milliseconds: 3_600_000))
    }
    _ = try await store.overwrite(
      ResponseStore.Write(
        accountID: try await store.accountID(named: ""), key: RequestKey(target: "http://a.example/x"),
        started: .now, status: 200, fields: ["ETag": "\"1\""],
        receivedAt: 1, body: .bytes(Data([0x61]))))
    await store.close()
    return place
  }

  /// What `rm` says, line by line.
  @MainActor private func rm(_ words: [String], in place: TemporaryStore) throws -> [String] {
    let streams = try WrittenStreams()
    let arguments = try ArgumentParser.parse(["rm", "--store", place.path] + words)
    let status = try StoreCommands(arguments, streams.diagnostics).rm()
    #expect(status == .success, "\(words)")
    return streams.errors.text.split(separator: "\n").map(String.init)
  }

  @Test(
    "rm ends the pauses of the hosts it names, whether or not they have entries",
    arguments: [
      (["http://a.example/x"], ["a pause is over: it asks again", "removed 1 entry"], 1),
      (["http://a.example/other"], ["no stored entry matches", "a pause is over: it asks again"], 1),
      (["--host", "a.example"], ["a pause is over: it asks again", "removed 1 entry"], 1),
      (["--host", "B.example"], ["no stored entry matches", "a pause is over: it asks again"], 1),
      (["--host", "b.example:8080"], ["no stored entry matches", "a pause is over: it asks again"], 1),
      (["--host", "b.example:80"], ["no stored entry matches"], 2),
      (["--host", "c.example"], ["no stored entry matches"], 2),
      (
        ["--account", "alice", "--host", "b.example"],
        ["no stored entry matches", "a pause is over: it asks again"], 1
      ),
      (["--account", "bob", "--host", "b.example"], ["no stored entry matches"], 2),
      (
        ["http://a.example/other", "http://b.example:8080/"],
        ["no stored entry matches", "2 pauses are over: it asks again"], 0
      ),
      // What names no host ends none.
      (["--older-than", "1s"], ["removed 1 entry"], 2), (["--tag", "t"], ["no stored entry matches"], 2),
    ] as [([String], [String], Int)])
  @MainActor func pauses(words: [String], said: [String], left: Int) async throws {
    let place = try await prepared()
    let lines = try rm(words, in: place)
    #expect(lines.map { $0.replacing("cachefetch: ", with: "") } == said, "\(words)")
    let store = ResponseStore(configuration: .unhurried(path: place.path))
    #expect(try await store.pauses(at: .now).count == left, "\(words)")
    await store.close()
  }
}
