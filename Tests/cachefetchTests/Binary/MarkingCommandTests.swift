import FixtureServer
import TestSupport
import TestTurns
import Testing

@Suite("Command: unmark", .inTurn) struct MarkingCommandTests {
  @Test func `a pin or a tag on what is not stored is told, since it has no effect`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("left", ["Cache-Control": "no-store"]))
    let both = try await shell.run("--pin", "--tag", "t", "--print", "none", origin.url)
    #expect(both.status == 0)
    #expect(
      both.errorText
        == "cachefetch: \(origin.url): the fresh response is not stored (no-store), so that --pin and "
        + "--tag have no effect on it\n", "\(both.errorText)")
    origin.answer(.status(404, "none"))
    let tag = try await shell.run("--tag", "t", origin.url)
    #expect(tag.errorText.hasSuffix("is not stored (its status), so that --tag has no effect on it\n"))
    #expect(try await shell.run("-q", "--tag", "t", origin.url).errors.isEmpty)
    origin.answer(.ok("kept"))
    #expect(try await shell.run("--pin", "--tag", "t", origin.url).errors.isEmpty)
  }

  @Test func `what is stored has the pin and the tag though the fresh response is not kept or does not come`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("kept"))
    _ = try await shell.run(origin.url)
    origin.answer(.status(404, "none"))
    let missing = try await shell.run("--tag", "gone", "--print", "none", origin.url)
    #expect(missing.status == 0 && missing.errors.isEmpty, "\(missing.errorText)")
    #expect(try await shell.run("list", "--tag", "gone").lines.count == 1)
    origin.server.stop()
    let down = try await shell.run("--pin", "--tag", "down", "--retry", "0", origin.url)
    #expect(down.status == 3 && down.outputText == "kept")
    let listed = try await shell.run("list", "--tag", "down").lines
    #expect(listed.count == 1 && listed[0].contains("\tpinned\t"))
  }

  @Test func `what was pinned may be evicted again, and is there until then`() async throws {
    let (shell, origin) = try await Shell.filled()
    #expect(try await shell.run("list").lines.filter { $0.contains("pinned\t") }.count == 1)
    let run = try await shell.run("unmark", "--pin", "--prefix", origin.url)
    #expect(run.status == 0 && run.outputText.isEmpty && run.errorText == "unpinned 1 entry\n")
    #expect(try await shell.run("list").lines.filter { $0.contains("pinned\t") }.isEmpty)
    #expect(try await shell.listed() == ["/a", "/b", "/c"])
    // Nothing protects it any more.
    #expect(try await shell.run("limits", "--rows", "1").status == 0)
    #expect(try await shell.listed() == ["/c"])
    #expect(try await shell.run("limits", "--rows", "none").status == 0)
    let again = try await shell.run("unmark", "--pin", origin.url + "/c")
    #expect(again.status == 0 && again.errorText == "unpinned 0 entries\n")
  }

  @Test func `of several tags the one that is named goes, from the entries that are selected`() async throws {
    let (shell, origin) = try await Shell.filled()
    for path in ["/b", "/c"] {
      _ = try await shell.run("-q", "--tag", "news", "--tag", "demo", origin.url + path)
    }
    let one = try await shell.run("unmark", "--tag", "news", origin.url + "/b")
    #expect(one.status == 0 && one.errorText == "removed 1 tag\n")
    #expect(try await shell.listed("--tag", "news") == ["/c"])
    #expect(try await shell.listed("--tag", "demo") == ["/b", "/c"])
    let rest = try await shell.run("unmark", "--json", "--tag", "demo")
    #expect(rest.outputText == "{\"untagged\":2}\n" && rest.errorText.isEmpty)
    let none = try await shell.run("unmark", "--tag", "demo")
    #expect(none.status == 0 && none.errorText == "cachefetch: no stored entry matches\n")
  }

  @Test func `pin and tags go at once, and an entry without them is none that they are taken from`()
    async throws
  {
    let (shell, origin) = try await Shell.filled()
    _ = try await shell.run("-q", "--tag", "x", "--tag", "y", "--pin", origin.url + "/b")
    let words = ["unmark", "--pin", "--tag", "x", "--tag", "y", "--tag", "z", "--host", "127.0.0.1"]
    #expect(try await shell.run(words).errorText == "unpinned 2 entries, removed 2 tags\n")
    #expect(try await shell.run(words + ["--json"]).outputText == "{\"unpinned\":0,\"untagged\":0}\n")
    #expect(try await shell.listed("--tag", "news") == ["/b"])
  }

  @Test(
    "a URL, a key and the options of a key select for both as they do for rm",
    arguments: [(["--pin"], "unpinned 1 entry"), (["--tag", "t"], "removed 1 tag")])
  func selected(mark: [String], said: String) async throws {
    let (shell, origin) = try await Shell.filled()
    let url = origin.url + "/b"
    for words in [["--no-location"], ["--account", "alice"], ["--key", "own"], []] {
      _ = try await shell.run(["-q", "--pin", "--tag", "t"] + words + [url])
    }
    let ways = [[url, "--no-location"], [url, "--account", "alice"], ["key:own"], ["--exact", url]]
    for words in ways {
      let run = try await shell.run(["unmark"] + mark + words)
      #expect(run.errorText == said + "\n", "\(words)")
    }
    #expect(try await shell.listed("--prefix", url).count == 3, "a key of one's own is none of the URL's")
  }
}
