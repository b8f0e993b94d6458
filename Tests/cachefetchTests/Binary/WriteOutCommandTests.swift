import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Command: -w", .inTurn) struct WriteOutCommandTests {
  @Test func `-w writes its line once for each URL, when the load is over`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["Content-Type": "text/plain"]))
    let format = "\n%{http_code} %{size_download} %{content_type} %{exitcode} %{delivery} %{url_effective}\n"
    let first = try await shell.run("-w", format, origin.url)
    #expect(first.outputText == "one\n200 3 text/plain 0 fresh \(origin.url)\n")
    let offline = try await shell.run("--offline", "-w", format, origin.url)
    #expect(offline.outputText == "one\n200 0 text/plain 0 stored \(origin.url)\n")
    let several = try await shell.run("-w", "%{urlnum}%{stderr}%{http_code},", origin.url, origin.url + "?")
    #expect(several.errorText == "200,200," && several.outputText.filter { "01".contains($0) }.count == 2)
    try shell.store.folder.write("%{exitcode}\n%{errormsg}\\n\n", to: "format")
    let file = try await shell.run("--offline", "-w", "@format", origin.url + "/none")
    #expect(file.outputText == "4nothing is stored for \(origin.url)/none\n" && file.status == 4)
    for name in ["time_connect", "time_appconnect", "nonsense"] {
      let unknown = try await shell.run("-w", "%{\(name)}", origin.url)
      #expect(unknown.status == 64 && unknown.errorText.contains("time_total"), "\(name)")
    }
    let quiet = try await shell.run("-q", "--print", "none", "-w", "%{http_code}", origin.url)
    #expect(quiet.outputText == "200")
  }

  @Test func `neither URL of -w has a secret in it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let format = "%{url} %{url_effective} %{json}"
    let address = origin.url.replacing("http://", with: "http://alice:geheim@") + "?token=geheim&a=b"
    let run = try await shell.run("--print", "none", "-w", format, address)
    #expect(run.outputText.hasPrefix("\(origin.url)?token=~&a=b \(origin.url)?token=~"), "\(run.outputText)")
    #expect(run.status == 0 && !run.outputText.contains("geheim"))
  }

  @Test func `-w counts the redirects that were followed, and writes all it has as JSON`() async throws {
    struct Written: Decodable, Equatable {
      var http_code, size_download, num_redirects, exitcode, urlnum: Int
      var content_type, errormsg: String?
      var url, url_effective, delivery: String
      var time_total: Double
    }
    func written(_ run: ChildProcess.Finished) throws -> Written {
      try JSONDecoder().decode(Written.self, from: Data(run.outputText.utf8))
    }
    let shell = try Shell()
    let origin = try FixtureServer(routes: [
      "/a": .redirect(to: "/b"), "/b": .redirect(to: "/c"),
      "/c": .ok("three", ["Content-Type": "text/plain"]),
    ])
    let followed = try await shell.run("-w", " %{num_redirects}", origin.url + "/a")
    #expect(followed.outputText == "three 2")
    // Who is given what is stored has followed none.
    let stored = try await shell.run("--offline", "-w", " %{num_redirects}", origin.url + "/a")
    #expect(stored.outputText == "three 0")
    let json = try await shell.run("-w", "%{json}", "--print", "none", origin.url + "/a")
    let fresh = try written(json)
    #expect(
      fresh
        == Written(
          http_code: 200, size_download: 5, num_redirects: 2, exitcode: 0, urlnum: 0,
          content_type: "text/plain", errormsg: nil, url: origin.url + "/a",
          url_effective: origin.url + "/c", delivery: "fresh", time_total: fresh.time_total))
    #expect(fresh.time_total > 0)
    let missing = try written(try await shell.run("-q", "-w", "%{json}", "--offline", origin.url + "/none"))
    #expect(missing.http_code == 0 && missing.exitcode == 4 && missing.content_type == nil)
    #expect(missing.errormsg?.hasPrefix("nothing is stored") == true && missing.delivery == "failure")
  }
}
