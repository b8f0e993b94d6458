import CacheStore
import DataService
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: --policy http", .inTurn) struct HTTPPolicyCommandTests {
  private struct Line: Decodable {
    var delivery: String
    var status: Int?
    var body: String?
    var fields: [[String]]?
  }

  @Test("what is delivered is what the case says, by the command too", arguments: HTTPCase.all(now: 0))
  func each(httpCase: HTTPCase) async throws {
    let shell = try Shell()
    let differences = try await httpCase.ofNow.differences { step, url in
      var words = ["--policy", "http", "--json", "--retry", "0", "--connect-timeout", "1h"]
      words += step.method == .head ? ["-I"] : step.method == .get ? [] : ["-X", step.method.rawValue]
      for field in step.fields.all { words += ["-H", "\(field.name): \(field.value)"] }
      let run = try await shell.run(words + [url])
      let lines = try run.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
      let line = try #require(lines.first)
      let kinds = lines.map(\.delivery).joined(separator: ", ")
      #expect(run.status == (["failure": 4, "stored, failure": 3][kinds] ?? 0), "the exit status")
      var fields = HTTPFields()
      for field in line.fields ?? [] where field.count == 2 { fields.append(field[0], field[1]) }
      return (kinds, line.status, line.body, fields)
    }
    #expect(differences.isEmpty, "\(differences)")
  }

  @Test(
    "A range of a stored body of many chunks is printed exactly, and asked of no one",
    arguments: [
      ("2-4", 2..<5), ("262143-262144", 262_143..<262_145), ("262144-524287", 262_144..<524_288),
      ("1000000-1000000", 1_000_000..<1_000_001), ("200000-2000000", 200_000..<2_000_001),
      ("2999990-", 2_999_990..<3_000_000), ("-5", 2_999_995..<3_000_000), ("-500000", 2_500_000..<3_000_000),
    ])
  func range(text: String, part: Range<Int>) async throws {
    let shell = try Shell()
    let content = distinctBytes(3_000_000)
    let origin = try ChangingOrigin(.ok(content, ["Cache-Control": "max-age=600", "ETag": "\"1\""]))
    _ = try await shell.run("-q", "--print", "none", origin.url)
    origin.server.forgetRequests()
    let field = "Range: bytes=\(text)"
    let run = try await shell.run("--policy", "http", "-H", field, origin.url)
    #expect(run.output == Array(content[part]), "\(run.output.count) bytes for \(part.count)")
    #expect(run.status == 0 && run.errors.isEmpty)
    let head = try await shell.run("--policy", "http", "-i", "-o", "out", "-H", field, origin.url)
    #expect(head.status == 0)
    let file = try shell.store.folder.bytes(of: "out")
    #expect(file.suffix(part.count).elementsEqual(content[part]))
    let lines = String(decoding: file.dropLast(part.count), as: UTF8.self)
    #expect(lines.hasPrefix("HTTP/1.1 206 Partial Content\r\n"))
    #expect(lines.contains("Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/3000000\r\n"))
    #expect(origin.server.requests().isEmpty)
  }

  @Test("A stored delivery has Age and Cache-Status among its fields, in JSON as under -i") func cacheStatus()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["Cache-Control": "max-age=600", "Age": "300"]))
    _ = try await shell.run(["-q", origin.url])
    let run = try await shell.run(["--offline", "--json", origin.url])
    let line = try JSONDecoder().decode(Line.self, from: Data((run.lines.first ?? "").utf8))
    let ages = line.fields?.filter { $0.first == "Age" }.compactMap(\.last).compactMap { Int($0) } ?? []
    #expect(ages.count == 1 && (ages.first ?? 0) >= 300)
    let status = line.fields?.last ?? []
    #expect(status.first == "Cache-Status" && status.last?.hasPrefix("cachefetch; hit; ttl=") == true)
  }

  @Test(
    "The head of the 504 for only-if-cached stands where bodies would, and in no JSON",
    arguments: [
      (["-i"], true), (["-I"], true), (["--json", "-I"], false), (["-i", "-o", "out"], false),
      (["-i", "--print", "none"], false),
    ] as [([String], Bool)])
  func gatewayTimeout(words: [String], isShown: Bool) async throws {
    let asked = ["--policy", "http", "-H", "Cache-Control: only-if-cached"]
    let run = try await Shell().run(asked + words + ["http://a.example/x"])
    #expect(run.status == 4, "\(run.errorText)")
    guard !isShown else {
      #expect(run.outputText.hasPrefix("HTTP/1.1 504 Gateway Timeout\r\n"))
      return
    }
    for line in run.lines { _ = try JSONDecoder().decode(Line.self, from: Data(line.utf8)) }
    #expect(run.lines.count == (words.contains("--json") ? 1 : 0), "\(run.outputText)")
  }

  @Test("explain says which rule decides, as text and as JSON, and asks no one") func explain() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["Cache-Control": "max-age=600", "ETag": "\"1\""]))
    _ = try await shell.run(["-q", origin.url])
    origin.server.forgetRequests()
    let text = try await shell.run(["explain", origin.url])
    #expect(text.status == 0)
    #expect(text.outputText.hasPrefix("cachefetch would print the response stored "))
    #expect(text.outputText.contains(" ago, then the server's answer if it differs.\n\nkey\n"))
    #expect(text.outputText.contains("stored: fresh (section 4.2)"))
    #expect(text.outputText.contains("RFC 9111 section 4.2.3"))
    let json = try await shell.run(["explain", "--json", "--policy", "http", origin.url])
    #expect(json.lines.count == 1)
    guard case .object(let members) = JSONValue(Data(json.outputText.utf8)) else {
      Issue.record("not an object: \(json.outputText)")
      return
    }
    #expect(
      members["verdicts"]
        == .array([.object(["policy": .string("http"), "outcome": .string("stored: fresh (section 4.2)")])]))
    #expect(origin.server.requests().isEmpty)
  }
}
