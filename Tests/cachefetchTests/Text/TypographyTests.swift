import FixtureServer
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Typography", .inTurn) struct TypographyTests {
  @Test(
    "UTF-8 is what the locale says",
    arguments: [
      ([:], true), (["LANG": "C"], false), (["LANG": "POSIX"], false), (["LANG": "en_GB.UTF-8"], true),
      (["LANG": "C.utf8"], true), (["LANG": "de_DE@euro"], false), (["LANG": "de_DE.ISO-8859-1"], false),
      (["LC_ALL": "C", "LANG": "en_GB.UTF-8"], false), (["LC_CTYPE": "C.UTF-8", "LANG": "C"], true),
      (["LC_ALL": "", "LANG": "C"], false),
    ] as [([String: String], Bool)])
  func locale(environment: [String: String], isUTF8: Bool) {
    #expect(Typography.isUTF8 { environment[$0] } == isUTF8)
  }

  @Test func `marks become ASCII, and what is not a mark stays`() {
    #expect(Typography.ascii("“é” → a… · b – c") == "\"é\" -> a... - b - c")
    #expect(Typography.fitting("plain", isUTF8: { false }) == "plain")
  }

  @Test(arguments: ["C", "POSIX", "de_DE.ISO-8859-1"])
  func `messages and help are in ASCII where the locale has nothing else`(locale: String) async throws {
    var shell = try Shell()
    shell.environment["LC_ALL"] = locale
    let wrong = try await shell.run("lst")
    #expect(wrong.errorText == "cachefetch: \"lst\" is neither a verb nor a URL; did you mean \"list\"?\n")
    let offline = try await shell.run("--offline", "-v", "http://a.example/")
    #expect(offline.errors.allSatisfy { $0 < 0x80 })
    for page in [["help"], ["help", "get"], ["help", "preload"], ["help", "manual"]] {
      #expect(try await shell.run(page).output.allSatisfy { $0 < 0x80 }, "\(page)")
    }
    shell.environment["LC_ALL"] = "C.UTF-8"
    #expect(try await shell.run("lst").errorText.contains("“lst”"))
  }

  @Test func `reports are in ASCII there too`() async throws {
    var shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    _ = try await shell.run("--read", "-d", "a", origin.url)
    shell.environment["LC_ALL"] = "C.UTF-8"
    let rows = try await shell.run("list").outputText
    #expect(try await shell.run("stats").outputText.contains(" · delivered "))
    shell.environment["LC_ALL"] = "C"
    // What a program reads does not depend on the locale.
    #expect(try await shell.run("list").outputText == rows)
    let stats = try await shell.run("stats")
    #expect(stats.outputText.contains(": 2 entries - delivered "), "\(stats.outputText)")
    #expect(stats.output.allSatisfy { $0 < 0x80 })
    origin.answer(.ok([0, 0xFF, 0, 1]))
    let diff = try await shell.run("diff", origin.url)
    #expect(diff.outputText == "binary bodies differ: 3 B -> 4 B\n", "\(diff.errorText)")
  }
}
