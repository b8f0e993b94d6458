import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: JSON Lines", .inTurn) struct JSONOutputTests {
  private struct Line: Decodable {
    struct Problem: Decodable {
      var kind: String
      var message: String
    }
    var delivery: String
    var url: String
    var method: String
    var status: Int?
    var body: String?
    var body_base64: String?
    var body_bytes: Int?
    var body_omitted: Bool?
    var change: String?
    var revalidated: Bool?
    var kept: Bool?
    var kept_reason: String?
    var age_ms: Int?
    var stale: Bool?
    var error: Problem?
  }

  private func lines(_ run: ChildProcess.Finished) throws -> [Line] {
    try run.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
  }

  @Test func `each delivery is one object on one line`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let first = try lines(try await shell.run("--json", origin.url))
    #expect(first.map(\.delivery) == ["fresh"] && first[0].change == "new" && first[0].kept != nil)
    #expect(first[0].body == "one" && first[0].body_bytes == 3 && first[0].status == 200)
    let second = try lines(try await shell.run("--json", origin.url))
    #expect(second.map(\.delivery) == ["stored", "fresh"])
    #expect(second[1].change == "unchanged" && second[1].revalidated == true && second[1].body == "one")
    #expect(second[0].age_ms != nil && second[0].stale != nil && second[0].kept == nil)
    origin.server.stop()
    let third = try await shell.run("--json", "--retry", "0", origin.url)
    let last = try lines(third)
    #expect(last.map(\.delivery) == ["stored", "failure"] && last[1].error?.kind == "refused")
    #expect(third.status == 3)
  }

  @Test func `a body that is not UTF-8 comes as base64`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok([0xFF, 0x00, 0x01]))
    let line = try #require(try lines(try await shell.run("--json", origin.url)).first)
    #expect(line.body == nil && line.body_base64 == "/wAB" && line.body_bytes == 3)
  }

  @Test func `what is not kept says why`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["Cache-Control": "no-store"]))
    let line = try #require(try lines(try await shell.run("--json", origin.url)).first)
    #expect(line.kept == false && line.kept_reason == "noStore")
  }

  @Test func `under --print last one object comes for each URL`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    #expect(
      try lines(try await shell.run("--json", "--print", "last", origin.url)).map(\.delivery) == ["fresh"])
    origin.server.stop()
    let down = try lines(try await shell.run("--json", "--print", "last", "--retry", "0", origin.url))
    #expect(down.map(\.delivery) == ["stored"])
    #expect(try await shell.run("--json", "--print", "none", "--retry", "0", origin.url).output.isEmpty)
  }

  @Test func `-f leaves the body out and keeps the object`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.status(404, "gone"))
    let run = try await shell.run("--json", "-f", origin.url)
    let line = try #require(try lines(run).first)
    #expect(run.status == 22 && line.status == 404 && line.body == nil && line.body_omitted == true)
  }

  @Test func `user and password are not in the URL that is shown`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let url = origin.url.replacing("http://", with: "http://alice:geheim@")
    let run = try await shell.run("--json", url)
    #expect(try lines(run).first?.url == origin.url)
    #expect(!run.outputText.contains("geheim") && !run.errorText.contains("geheim"))
  }
}
