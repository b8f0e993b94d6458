import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// The built command against a real web server. Without nginx this fails; nothing skips it.
@Suite("Interoperation: nginx", .inTurn) struct NginxTests {
  private struct Line: Decodable {
    var delivery: String
    var body: String?
    var change: String?
    var revalidated: Bool?
    var fields: [[String]]?
  }

  private func lines(_ run: ChildProcess.Finished) throws -> [Line] {
    try run.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
  }

  @Test func `run, change a file, run, stop nginx, run, start it again, run`() async throws {
    let shell = try Shell()
    let nginx = try NginxServer(
      server: """
        gzip on; gzip_min_length 1; gzip_types *;
        access_log seen.log seen;
        """,
      http: "log_format seen '$status $sent_http_content_encoding $http_if_none_match';")
    let url = nginx.url + "/news.txt"
    let first = String(repeating: "edition one\n", count: 300)
    let second = String(repeating: "the second edition\n", count: 400)

    try nginx.publish(first.utf8, as: "news.txt")
    let fresh = try await shell.run(url)
    #expect(fresh.outputText == first && fresh.status == 0 && fresh.errors.isEmpty)

    let validated = try lines(try await shell.run("--json", url))
    #expect(validated.map(\.delivery) == ["stored", "fresh"])
    #expect(validated.last?.change == "unchanged" && validated.last?.revalidated == true)
    #expect(validated.last?.body == first)
    let head = validated.first?.fields ?? []
    #expect(head.contains { $0.first == "ETag" && $0.last?.hasPrefix("W/\"") == true }, "\(head)")
    #expect(head.contains(["Content-Encoding", "gzip"]), "\(head)")

    try nginx.publish(second.utf8, as: "news.txt")
    let changed = try await shell.run(url)
    #expect(changed.outputText == first + second && changed.status == 0 && changed.errors.isEmpty)

    await nginx.stop()
    let down = try await shell.run("--retry", "0", url)
    #expect(down.outputText == second && down.status == 3)
    #expect(down.errorText.split(separator: "\n").count == 1 && down.errorText.contains("refused"))

    try nginx.start()
    let back = try lines(try await shell.run("--json", url))
    #expect(back.map(\.delivery) == ["stored", "fresh"] && back.last?.revalidated == true)
    #expect(back.last?.body == second)

    await nginx.stop()
    let seen = try String(
      decoding: Data(contentsOf: URL(filePath: nginx.root + "/../seen.log")), as: UTF8.self)
    let statuses = seen.split(separator: "\n").map {
      $0.split(separator: " ").prefix(2).joined(separator: " ")
    }
    #expect(statuses == ["200 gzip", "304 -", "200 gzip", "304 -"], "\(seen)")
  }

  @Test func `an image comes out of the store byte for byte`() async throws {
    let shell = try Shell()
    let nginx = try NginxServer()
    var generator = SeededGenerator(for: "image")
    let image = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00] + generator.bytes(200_000)
    try nginx.publish(image, as: "logo.png")
    // As in the README.
    #expect(try await shell.run("-o", "logo.png", nginx.url + "/logo.png").status == 0)
    #expect(try shell.store.folder.bytes(of: "logo.png") == image)
    await nginx.stop()
    let shown = try await shell.run("show", nginx.url + "/logo.png")
    #expect(shown.output == image && shown.status == 0)
  }
}
