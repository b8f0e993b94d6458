import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: get", .inTurn) struct GetArgumentsTests {
  private func plan(_ words: String...) throws(UsageError) -> GetArguments {
    try GetArguments(try ArgumentParser.parse(words))
  }

  @Test func `each policy has its spelling`() throws {
    #expect(try plan("http://a/").policy == .storedThenFresh)
    #expect(try plan("--offline", "http://a/").policy == .storedOnly)
    #expect(try plan("--max-age", "5m", "http://a/").policy == .storedElseFresh(.seconds(300), nil))
    #expect(try plan("--deadline", "2s", "http://a/").policy == .freshElseStored(.seconds(2)))
    #expect(try plan("--policy", "fresh-only", "http://a/").policy == .freshOnly)
    #expect(try plan("--policy", "fresh-else-stored", "http://a/").policy == .freshElseStored(nil))
    #expect(try plan("--policy", "http", "http://a/").policy == .http)
    #expect(
      try plan("--max-age", "5m", "--deadline", "1s", "http://a/").policy
        == .storedElseFresh(.seconds(300), .seconds(1)))
  }

  @Test(
    "Of policies the last counts, and --offline yields to --policy alone",
    arguments: [
      (["--policy", "http", "--max-age", "1s"], .storedElseFresh(.seconds(1), nil)),
      (["--max-age", "1s", "--policy", "http"], .http),
      (["--max-age", "1s", "--max-age", "2s"], .storedElseFresh(.seconds(2), nil)),
      (["--deadline", "1s", "--policy", "fresh-only"], .freshOnly),
      (["--offline", "--max-age", "1s"], .storedOnly), (["--max-age", "1s", "--offline"], .storedOnly),
      (["--offline", "--deadline", "1s"], .storedOnly), (["--offline", "--policy", "http"], .http),
      (["--policy", "http", "--offline"], .storedOnly),
      (["--offline", "--policy", "http", "--deadline", "1s"], .freshElseStored(.seconds(1))),
      (["--policy", "stored-only", "--max-age", "1s"], .storedElseFresh(.seconds(1), nil)),
    ] as [([String], PolicyChoice)])
  func lastPolicy(words: [String], expected: PolicyChoice) throws {
    let arguments = try ArgumentParser.parse(words + ["--store", "s", "http://a/"])
    #expect(PolicyChoice.chosen(arguments) == expected)
    // What may fetch may store, whatever an alias says.
    #expect(StoreLocation.configuration(arguments).isReadOnly == (expected == .storedOnly))
  }

  @Test func `--one prints one body, unless --print, --json or -o say what is printed`() throws {
    let one = try plan("-1", "http://a/")
    #expect(one.print == .last && one.form.isOne && one.form.failsOnStatus && !one.isStaleFine)
    for words in [["--print", "both"], ["--json"], ["-o", "/dev/null"]] {
      let other = try GetArguments(try ArgumentParser.parse(["-1", "--stale-ok"] + words + ["http://a/"]))
      #expect(other.print == .both && !other.isAlone && other.form.failsOnStatus && other.isStaleFine)
      #expect(other.form.isOne == (words[0] == "--print"))
    }
  }

  @Test(
    "Combinations that make no sense are refused",
    arguments: [
      ["--policy", "stored-else-fresh"],
      ["--policy", "http", "--keep-anyway"],
      ["-o", "f", "http://b/"], ["--json", "-i"], ["--background", "--offline"],
      ["--background", "-d", "x"], ["--background", "-X", "DELETE"],
      ["--offline", "--pin"], ["--offline", "--tag", "t"], ["--offline", "--keep-anyway"],
      ["--offline", "--ignore-path", "/a"], ["--offline", "--wait-online", "1s"],
      ["--policy", "stored-only", "--tag", "t"], ["-o", "/nowhere/at/all"], ["-o", "/"],
    ])
  func refused(words: [String]) {
    #expect(throws: UsageError.self) { try GetArguments(try ArgumentParser.parse(words + ["http://a/"])) }
  }

  @Test func `the detached refresh is the same load without output`() throws {
    let arguments = try ArgumentParser.parse([
      "--background", "-i", "--json", "-H", "a: 1", "-m", "5s", "http://a/",
    ])
    #expect(
      Background.words(arguments)
        == ["get", "--print=none", "--quiet", "--header=a: 1", "--timeout=5s", "--", "http://a/"])
    let again = try ArgumentParser.parse(Background.words(arguments))
    #expect(again.verb == .get && again.operands == ["http://a/"] && !again.has(.background))
  }

  private func failure(_ words: [String]) -> String? {
    do throws(UsageError) {
      _ = try GetArguments(try ArgumentParser.parse(words + ["http://a/"]))
      return nil
    } catch {
      return error.line
    }
  }

  @Test(
    "What could never print anything is refused",
    arguments: [
      (["--print", "fresh", "--offline"], "with --offline,"),
      (["--print", "fresh", "--background"], "with --background,"),
      (["--print", "fresh", "--policy", "stored-only"], "with --policy stored-only,"),
      (["--print", "stored", "--policy", "fresh-only"], "--print stored prints nothing"),
      (["--print", "none", "-o", "f"], "--print none and -o"),
      (["--print", "changed", "--offline"], "with --offline,"),
      (["--background", "--deadline", "1s"], "policy of its own"),
      (["--background", "--max-age", "1s", "--deadline", "1s"], "policy of its own"),
      (["--background", "-X", "PUT"], "--background would send PUT"),
      (["-X", "HEAD"], "-X HEAD prints nothing, since the response to HEAD has no body; write -I"),
      (["-X", "HEAD", "-o", "f"], "write -I"),
    ])
  func silent(words: [String], part: String) {
    #expect(failure(words)?.contains(part) == true, "\(failure(words) ?? "taken")")
  }

  @Test(
    "What prints something is taken",
    arguments: [
      ["--print", "fresh"], ["--print", "stored"], ["--print", "last", "--offline"], ["--print", "none"],
      ["--print", "none", "-o", "-"], ["-o", "-", "http://b/"], ["--background", "-X", "PUT", "--read"],
      ["-X", "HEAD", "-i"], ["-X", "HEAD", "--json"], ["-X", "HEAD", "-w", "x"], ["-X", "HEAD", "-v"],
      ["-X", "HEAD", "--print", "none"], ["-I"],
      ["--background"], ["--background", "--max-age", "1s"], ["--background", "-X", "OPTIONS"],
      ["--keep-anyway"], ["--policy", "http"],
    ])
  func taken(words: [String]) {
    #expect(failure(words) == nil, "\(failure(words) ?? "")")
  }

  @Test func `each option sets what it names`() throws {
    let plain = try plan("http://a/")
    #expect(plain.print == .both && plain.writeOut == nil && plain.background == nil && plain.parallel == nil)
    #expect(!plain.isOnlyIfCached && plain.requests.count == 1 && !plain.requests[0].yieldsToOthers)
    #expect(try plan("--print", "last", "http://a/").print == .last && plan("-Z4", "http://a/").parallel == 4)
    #expect(try plan("-w", "%{url}", "http://a/").writeOut?.parts == [.variable(.url)])
    #expect(try plan("-H", "Cache-Control: only-if-cached", "http://a/").isOnlyIfCached)
    #expect(try plan("--background", "--max-age", "1m", "http://a/").backgroundAge == .seconds(60))
    let left = try plan("--background", "http://a/")
    #expect(left.policy == .storedOnly && left.background?.words.first == "get")
    #expect(
      try plan("-G", "-d", "b", "http://a/", "http://c/").lines.map(\.url) == ["http://a/?b", "http://c/?b"])
  }
}
