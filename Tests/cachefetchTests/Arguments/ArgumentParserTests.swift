import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: parser", .inTurn) struct ArgumentParserTests {
  private func parse(_ words: String...) throws(UsageError) -> Arguments { try ArgumentParser.parse(words) }

  private func failure(_ words: [String]) -> UsageError? {
    do throws(UsageError) {
      _ = try ArgumentParser.parse(words)
      return nil
    } catch {
      return error
    }
  }

  @Test func `the verb is get where the first operand is a URL`() throws {
    let arguments = try parse("http://a/", "http://b/")
    #expect(arguments.verb == .get)
    #expect(arguments.operands == ["http://a/", "http://b/"])
  }

  @Test func `a verb's name after the first operand is an operand`() throws {
    #expect(try parse("get", "http://a/list").operands == ["http://a/list"])
    #expect(try parse("http://a/", "list").operands == ["http://a/", "list"])
  }

  @Test(arguments: ["localhost", "a.example", "a:80", "a/b", "a.b"])
  func `what looks like a URL without its scheme is an operand, and not taken for a verb`(word: String)
    throws
  {
    let arguments = try parse(word)
    #expect(arguments.verb == .get && arguments.operands == [word])
  }

  @Test(arguments: ["-d", "--data", "--data-binary"])
  func `a body may be empty`(option: String) throws {
    let arguments = try parse(option, "", "http://a/")
    #expect(arguments.texts(option == "--data-binary" ? .dataBinary : .data) == [""])
  }

  @Test func `options may stand before the verb, between operands and after them`() throws {
    let arguments = try parse("-q", "get", "--max-age", "5m", "http://a/", "-i")
    #expect(arguments.verb == .get)
    #expect(arguments.has(.quiet) && arguments.has(.include))
    #expect(arguments.duration(.maxAge) == .seconds(300))
  }

  @Test func `a value follows its option, or an equals sign, or its letter`() throws {
    #expect(try parse("--timeout", "3s", "http://a/").duration(.timeout) == .seconds(3))
    #expect(try parse("--timeout=3s", "http://a/").duration(.timeout) == .seconds(3))
    #expect(try parse("-m", "3s", "http://a/").duration(.timeout) == .seconds(3))
    #expect(try parse("-m3s", "http://a/").duration(.timeout) == .seconds(3))
    #expect(try parse("-ifm3s", "http://a/").has(.fail))
  }

  @Test func `a bare number is seconds`() throws {
    #expect(try parse("-m", "5", "http://a/").duration(.timeout) == .seconds(5))
    #expect(try parse("--connect-timeout=0.25", "http://a/").duration(.connectTimeout) == .milliseconds(250))
    #expect(try parse("watch", "--every", "30", "http://a/").duration(.every) == .seconds(30))
  }

  @Test func `what follows two hyphens is an operand`() throws {
    #expect(try parse("--", "http://a/", "--json").operands == ["http://a/", "--json"])
  }

  @Test func `a value may begin with a hyphen`() throws {
    #expect(try parse("-d", "-1", "http://a/").text(.data) == "-1")
  }

  @Test func `repeatable options keep their order, of others the last counts`() throws {
    #expect(try parse("-H", "a: 1", "-H", "b: 2", "http://a/").texts(.header) == ["a: 1", "b: 2"])
    #expect(try parse("-m", "1s", "--timeout", "2s", "http://a/").duration(.timeout) == .seconds(2))
    #expect(try parse("--print", "both", "--print=last", "http://a/").text(.print) == "last")
    let loud = try parse("-q", "-v", "http://a/")
    #expect(loud.has(.verbose) && !loud.has(.quiet))
    let quiet = try parse("-v", "-s", "http://a/")
    #expect(quiet.has(.quiet) && !quiet.has(.verbose))
  }

  @Test func `curl's options for what is done anyway mean what they mean there`() throws {
    let arguments = try parse("-fsSL", "--compressed", "--url", "http://a/", "--location", "--url=http://b/")
    #expect(arguments.operands == ["http://a/", "http://b/"] && arguments.verb == .get)
    #expect(arguments.options.map(\.name) == [.fail, .quiet, .showError])
    let followed = try parse("--no-location", "--no-compressed", "http://a/", "-L", "--compressed")
    #expect(followed.options.isEmpty)
    #expect(failure(["--url"])?.line == "--url has no value; write --url URL, or the URL alone")
  }

  @Test func `what an alias of get chooses is no matter to a verb that changes nothing`() throws {
    for verb in ["list", "show", "stats", "explain", "diff", "doctor"] {
      let operands = ["show", "explain", "diff"].contains(verb) ? ["http://a/"] : []
      let words = ["-1", "--stale-ok", "--print", "last", "--max-stale", "1d", "-Z", "3", verb] + operands
      #expect(try ArgumentParser.parse(words).options.isEmpty, "\(verb)")
      #expect(
        failure([verb, "-1"] + operands)?.line
          == "-1 does not apply to \(verb); see cachefetch help \(verb)")
    }
    for words in [["rm", "http://a/"], ["preload", "http://a/"], ["watch", "http://a/"], ["sign-out"]] {
      let line =
        "-1 does not apply to \(words[0]); leave it out, or write \\cachefetch if it comes from an alias"
      #expect(failure(["-1"] + words)?.line == line)
    }
    // It is no part of what an alias chooses.
    #expect(failure(["--keep-anyway", "list"])?.message == "--keep-anyway does not apply to list")
  }

  @Test(
    "Refusals name the thing and the remedy",
    arguments: [
      (["lst"], "“lst” is neither a verb nor a URL; did you mean “list”?"),
      (["signout"], "“signout” is neither a verb nor a URL; did you mean “sign-out”?"),
      (["delete"], "“delete” is neither a verb nor a URL; did you mean “rm”?"),
      (["--offlin", "http://a/"], "there is no option --offlin; did you mean --offline?"),
      (["--max-aeg", "1s", "http://a/"], "there is no option --max-aeg; did you mean --max-age?"),
      (["--zzzzzz"], "there is no option --zzzzzz; see cachefetch help"),
      (["list", "-j"], "there is no option -j; see cachefetch help list"),
      (["list", "-Z"], "-Z does not apply to list; see cachefetch help list"),
      (["--offline=yes", "http://a/"], "--offline takes no value; write --offline alone"),
      (["http://a/", "-o"], "-o has no value; write -o FILE"),
      (["list", "--offline"], "--offline does not apply to list; see cachefetch help list"),
      ([], "missing URL…; usage: cachefetch URL…"),
      (["diff"], "missing URL; usage: cachefetch diff URL"),
      (["export"], "missing FILE; usage: cachefetch export FILE"),
      (["list", "x"], "list takes no operands (got “x”); see cachefetch help list"),
      (["diff", "http://a/", "x"], "diff takes one operand (got “x”); see cachefetch help diff"),
      (
        ["--max-age", "soon", "http://a/"],
        "--max-age “soon” is not a duration; write a number and a unit, or seconds: 500ms, 30s, 5m, 2h, 7d, 30"
      ),
      (["--max-age", "99999999d", "http://a/"], "--max-age “99999999d” is too long; write at most 36500d"),
      (
        ["-m", "99999999999999999999", "http://a/"],
        "--timeout “99999999999999999999” is too long; write at most 36500d"
      ),
      (
        ["--max-body", "x", "http://a/"],
        "--max-body “x” is not a size; write a number and a unit: 64k, 10M, 1G"
      ),
      (
        ["--parallel", "0", "http://a/"], "--parallel “0” is out of range; write a number from 1 to 1000"
      ),
      (["--print", "bth", "http://a/"], "invalid value “bth” for --print; did you mean both?"),
      (
        ["--print", "Both", "http://a/"], "invalid value “Both” for --print; did you mean both?"
      ),
      (
        ["--policy", "stored-else-fresh", "http://a/"],
        "invalid value “stored-else-fresh” for --policy; write --max-age D"
      ),
      (
        ["--policy", "newest", "http://a/"],
        "invalid value “newest” for --policy; write one of stored-then-fresh, stored-only, fresh-only, "
          + "fresh-else-stored, http"
      ),
      (["--store", "", "http://a/"], "--store has an empty value; write --store PATH"),
    ] as [([String], String)])
  func refusal(words: [String], line: String) {
    #expect(failure(words)?.line == line)
  }

  @Test(
    "The number of --parallel may be left out, as curl's users do",
    arguments: [
      (["-Z", "http://a/", "http://b/"], nil), (["-Z8", "http://a/", "http://b/"], 8),
      (["-Z", "8", "http://a/", "http://b/"], 8), (["-Zi", "http://a/", "http://b/"], nil),
      (["--parallel", "http://a/", "http://b/"], nil), (["--parallel=4", "http://a/", "http://b/"], 4),
      (["http://a/", "http://b/", "--parallel", "4"], 4), (["http://a/", "http://b/", "-Z"], nil),
    ] as [([String], Int?)])
  func parallel(words: [String], count: Int?) throws {
    let arguments = try ArgumentParser.parse(words)
    #expect(arguments.has(.parallel) && arguments.count(.parallel) == count)
    #expect(arguments.operands == ["http://a/", "http://b/"])
  }

  @Test(
    "What curl has and this has not is answered with the remedy",
    arguments: [
      "-r", "-C", "-K", "-N", "-4", "-6", "-O", "-b", "-A", "-e", "-T", "-F",
      "--retry-delay",
      "--http2", "-c", "-J", "-U", "-E", "-a", "-g", "-D", "-R", "-0", "--range", "--continue-at",
      "--config", "--no-buffer", "--ipv4", "--ipv6", "--remote-name",
      "--cookie", "--user-agent", "--referer", "--upload-file", "--form", "--max-time",
      "--data-raw", "--netrc-file", "--netrc-optional", "--noproxy", "--proxy-user", "--digest",
      "--oauth2-bearer", "--parallel-max", "--max-redirs", "--max-filesize", "--url-query",
      "--next", "--etag-compare", "-z", "--connect-to", "--location-trusted", "--preproxy", "--proto",
      "--http0.9",
      "--hsts", "--rate", "--speed-time", "--capath", "--raw", "--stderr", "--output-dir",
      "--remote-name-all",
      "--pass", "--quote", "--tlsuser", "--egd-file",
    ])
  func foreign(option: String) throws {
    let line = try #require(failure([option, "http://a/"])?.line)
    #expect(!line.contains("did you mean") && !line.contains("cachefetch help"), "\(line)")
  }

  @Test func `no option is both here and foreign`() {
    for option in Option.table {
      #expect(Suggestion.foreign(option.spelling) == nil, "\(option.spelling)")
      if let letter = option.short { #expect(Suggestion.foreign("-\(letter)") == nil, "-\(letter)") }
    }
  }

  @Test func `help and version win over whatever else the line says`() throws {
    #expect(try parse("watch", "--help").verb == .help)
    #expect(try parse("watch", "--help").operands == ["watch"])
    #expect(try parse("--version").has(.version))
  }

  @Test(
    "A number is taken up to the ends of its range",
    arguments: [
      (["--retry", "100", "http://a/"], true), (["--retry", "101", "http://a/"], false),
      (["--retry", "-1", "http://a/"], false), (["--parallel", "1000", "http://a/"], true),
      (["--parallel", "1", "http://a/"], true), (["--parallel", "1001", "http://a/"], false),
      (["list", "--limit", "1"], true), (["list", "--limit", "0"], false),
      (["list", "--limit", "1000000000"], true), (["list", "--limit", "1000000001"], false),
      (["limits", "--rows", "1"], true), (["limits", "--rows", "0"], false),
      (["limits", "--rows", "1000000000"], true), (["limits", "--rows", "1000000001"], false),
    ] as [([String], Bool)])
  func range(words: [String], isTaken: Bool) {
    #expect((failure(words) == nil) == isTaken)
  }
}
