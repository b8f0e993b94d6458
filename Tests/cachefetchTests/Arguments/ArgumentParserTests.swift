import Testing

@testable import cachefetch

@Suite("Command line: parser") struct ArgumentParserTests {
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

  @Test func `what follows two hyphens is an operand`() throws {
    #expect(try parse("--", "http://a/", "--json").operands == ["http://a/", "--json"])
  }

  @Test func `a value may begin with a hyphen`() throws {
    #expect(try parse("-d", "-1", "http://a/").text(.data) == "-1")
  }

  @Test func `repeatable options keep their order, others are refused twice`() throws {
    #expect(try parse("-H", "a: 1", "-H", "b: 2", "http://a/").texts(.header) == ["a: 1", "b: 2"])
    #expect(failure(["-m", "1s", "--timeout", "2s", "http://a/"])?.message == "--timeout is given twice")
  }

  @Test(
    "Refusals name the thing and the remedy",
    arguments: [
      (["lst"], "“lst” is neither a verb nor a URL; did you mean “list”?"),
      (["signout"], "“signout” is neither a verb nor a URL; did you mean “sign-out”?"),
      (["delete"], "“delete” is neither a verb nor a URL; did you mean “rm”?"),
      (["--offlin", "http://a/"], "there is no option --offlin; did you mean --offline?"),
      (["--max-aeg", "1s", "http://a/"], "there is no option --max-aeg; did you mean --max-age?"),
      (
        ["-L", "http://a/"],
        "there is no option -L; redirects are followed unless --no-location says otherwise"
      ),
      (["--zzzzzz"], "there is no option --zzzzzz; see cachefetch help"),
      (["list", "-Z"], "there is no option -Z; see cachefetch help list"),
      (["--offline=yes", "http://a/"], "--offline takes no value; write --offline alone"),
      (["http://a/", "-o"], "-o has no value; write -o FILE"),
      (["list", "--offline"], "--offline does not apply to list; see cachefetch help list"),
      ([], "no URL is given; write cachefetch URL…, or see cachefetch help"),
      (["diff"], "diff needs URL; write cachefetch diff URL, or see cachefetch help"),
      (["list", "x"], "list takes no operand and not “x” too; see cachefetch help list"),
      (
        ["--max-age", "5", "http://a/"],
        "--max-age “5” is not a duration; write a number and a unit: 500ms, 30s, 5m, 2h, 7d"
      ),
      (
        ["--max-body", "x", "http://a/"],
        "--max-body “x” is not a size; write a number and a unit: 64k, 10M, 1G"
      ),
      (
        ["--parallel", "0", "http://a/"], "--parallel “0” is not a number it takes; write one from 1 to 1000"
      ),
      (["--print", "bth", "http://a/"], "--print knows no “bth”; did you mean both?"),
      (["--store", "", "http://a/"], "--store has an empty value; write --store PATH"),
    ] as [([String], String)])
  func refusal(words: [String], line: String) {
    #expect(failure(words)?.line == line)
  }

  @Test func `help and version win over whatever else the line says`() throws {
    #expect(try parse("watch", "--help").verb == .help)
    #expect(try parse("watch", "--help").operands == ["watch"])
    #expect(try parse("--version").has(.version))
  }
}

@Suite("Command line: table of options") struct OptionTableTests {
  @Test func `every option is in the table once`() {
    #expect(Set(Option.table.map(\.name)) == Set(OptionName.allCases))
    #expect(Option.table.count == OptionName.allCases.count)
    let letters = Option.table.compactMap(\.short)
    #expect(Set(letters).count == letters.count)
  }

  @Test func `every option is explained in one line and applies to a verb`() {
    for option in Option.table {
      #expect(
        !option.help.isEmpty && !option.help.contains("\n") && option.help.count <= 90, "\(option.spelling)")
      #expect(!option.verbs.isEmpty, "\(option.spelling)")
      #expect((option.value == nil) == option.placeholder.isEmpty, "\(option.spelling)")
    }
  }
}
