import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore
@testable import cachefetch

@Suite("Completion: what the shells' scripts are told", .inTurn) struct CompletionsCommandTests {
  @Test func `a candidate has some words behind a tab, where there are any`() async throws {
    let shell = try Shell()
    let verb = try await shell.run("completions", "candidates", "--", "sig")
    #expect(verb.status == 0 && verb.outputText == "sign-out\t\(Verb.signOut.summary)\n")
    let value = try await shell.run("completions", "candidates", "--", "--policy", "fresh-o")
    #expect(value.outputText == "fresh-only\n")
  }

  @Test func `bash breaks words where it says, and nowhere if it says nothing`() async throws {
    let shell = try Shell()
    let line = "cachefetch --policy=fresh-o"
    for (words, inserted) in [(["=", line], "fresh-only\n"), ([line], "--policy=fresh-only\n")] {
      let run = try await shell.run(["completions", "bash-candidates", "--"] + words)
      #expect(run.status == 0 && run.outputText == inserted, "\(words): \(run.outputText)")
    }
  }

  @Test func `of what is stored, what begins so is offered, URLs and keys in their places`() async throws {
    let shell = try Shell()
    let store = ResponseStore(configuration: .unhurried(path: shell.store.path))
    let account = try await store.accountID(named: "")
    for target in ["http://a.example/1", "http://b.example/2", "key:own", "key:other"] {
      _ = try await store.overwrite(
        ResponseStore.Write(
          accountID: account, key: RequestKey(target: target),
          started: StartMark(boot: "boot", nanoseconds: 1),
          status: 200, fields: ["ETag": "\"1\""], receivedAt: 1, body: .bytes(Data([0x61]))))
    }
    for name in ["alice", "auto:0123"] {
      let account = try await store.accountID(named: name)
      _ = try await store.overwrite(
        ResponseStore.Write(
          accountID: account, key: RequestKey(account: name, target: "http://c.example/3"),
          started: StartMark(boot: "boot", nanoseconds: 1),
          status: 200, fields: [:], receivedAt: 1, body: .bytes(Data([0x61]))))
    }
    await store.close()
    for (words, offered) in [
      (["show", "http://a"], ["http://a.example/1"]),
      (["rm", "http"], ["http://a.example/1", "http://b.example/2", "http://c.example/3"]),
      (["show", "key:ow"], ["key:own"]), (["rm", "--key", "o"], ["other", "own"]),
      (["list", "--account", ""], ["alice"]),
    ] as [([String], [String])] {
      let run = try await shell.run(["completions", "candidates", "--"] + words)
      #expect(run.lines == offered, "\(words): \(run.outputText)")
    }
    // From the store that the line names.
    var other = shell
    other.environment["CACHEFETCH_STORE"] = shell.file("none.sqlite")
    other.environment["HOME"] = shell.store.folder.path
    let path = shell.store.path
    for words in [
      ["candidates", "--", "--store", path, "show", "http://a"],
      ["candidates", "--", "show", "--store=" + path, "http://a"],
      ["candidates", "--", "--store", "~/store.sqlite", "show", "http://a"],
      ["bash-candidates", "--", "=", "cachefetch --store \(path) show http://a"],
    ] {
      let run = try await other.run(["completions"] + words)
      #expect(run.lines == ["http://a.example/1"], "\(words): \(run.outputText)")
    }
  }
}
