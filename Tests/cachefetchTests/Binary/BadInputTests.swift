import FixtureServer
import PlatformC
import TestSupport
import Testing
import TestTurns

/// One line that names the thing and the remedy, and the documented status.
@Suite("Command: bad input", .inTurn) struct BadInputTests {
  /// A command line, the thing its message names, and the remedy it proposes.
  struct Refused: Sendable, CustomTestStringConvertible {
    let words: [String]
    let thing: String
    let remedy: String
    var testDescription: String { words.joined(separator: " ") }

    init(_ words: [String], _ thing: String, _ remedy: String) {
      self.words = words
      self.thing = thing
      self.remedy = remedy
    }
  }

  private static let urls: [Refused] = [
    Refused(["example.com/x"], "“example.com/x” has no scheme", "https://example.com/x?"),
    Refused(["localhost"], "“localhost” has no scheme", "http://localhost?"),
    Refused(["git+ssh://a.example/b"], "the scheme “git+ssh” is not supported", "write an http or https URL"),
    Refused(["localhost:8080/x"], "“localhost:8080/x” has no scheme", "http://localhost:8080/x?"),
    Refused(["//a/x"], "“//a/x” has no scheme", "https://a/x?"),
    Refused(["ftp://a/"], "the scheme “ftp”", "write an http or https URL"),
    Refused(["mailto:a@b"], "the scheme “mailto”", "write an http or https URL"),
    Refused(["http://"], "“http://” names no host", "write https://HOST/PATH"),
    Refused(["http://a b/"], "“http://a b/” has a space", "%20"),
    Refused(["http://a/\n"], "has a line break", "%0A"),
    Refused(["http://a:99999/"], "invalid port 99999", "from 1 to 65535"),
    Refused(["http://a:x/"], "the port in “http://a:x/”", "from 1 to 65535"),
    Refused(["http://-bücher.example/"], "“-bücher.example” is no valid name", "spelling"),
    Refused([""], "an empty URL", "write a whole URL"),
  ]

  private static let requests: [Refused] = [
    Refused(["-X", "a b", "http://a/"], "the method “a b”", "write one such as GET"),
    Refused(["-X", "get", "http://a/"], "the method “get”", "write -X GET"),
    Refused(["-X", "CONNECT", "http://a/"], "the method CONNECT", "write another method"),
    Refused(["-H", "x", "http://a/"], "-H has no colon", "-H 'Name: value'"),
    Refused(["-H", "A: b\r\nC: d", "http://a/"], "the value of header “A” has a line break", "on one line"),
    Refused(["-H", "A b: c", "http://a/"], "header name “A b”", "-H 'Name: value'"),
    Refused(["-H", "@none", "http://a/"], "-H “none” cannot be read", "give a readable file"),
    Refused(["-u", "alice", "http://a/"], "-u has no colon", "-u USER:PASSWORD"),
    Refused(["-d", "@none", "http://a/"], "-d “none” cannot be read", "give a readable file"),
    Refused(["--resolve", "a:b", "http://a/"], "--resolve “a:b”", "HOST:PORT:ADDRESS"),
    Refused(
      ["--resolve", "a:80:127.0.0.1", "--resolve", "A:80:127.0.0.2", "http://a/"],
      "--resolve “A:80:127.0.0.2” is for a host and port that another one is for", "one HOST:PORT:ADDRESS"),
    Refused(["--resolve", "a:80:notanip", "http://a/"], "“notanip” is not an address", "IPv4"),
    Refused(["-x", "", "http://a/"], "--proxy has an empty value", "no_proxy='*'"),
    Refused(["--max-age", "5x", "http://a/"], "--max-age “5x” is not a duration", "5m"),
    Refused(["--max-age", "99999999d", "http://a/"], "--max-age “99999999d” is too long", "36500d"),
    Refused(["--deadline", "-1s", "http://a/"], "--deadline “-1s” is not a duration", "30s"),
    Refused(["-m", "soon", "http://a/"], "--timeout “soon” is not a duration", "30s"),
    Refused(["--max-body", "5q", "http://a/"], "--max-body “5q” is not a size", "10M"),
    Refused(["--parallel", "0", "http://a/"], "--parallel “0”", "from 1 to 1000"),
    Refused(["--key", "k", "http://a/", "http://b/"], "--key names one stored response", "once for each"),
    Refused(
      ["watch", "--key", "k", "http://a/", "http://b/"], "--key names one stored response, and 2 URLs",
      "once for each"),
    Refused(["preload", "--key", "k", "http://a/", "http://b/"], "and 2 URLs are given", "once for each"),
    Refused(["preload", ""], "“”: no such file", "https://HOST/PATH"),
    Refused(["preload", "/nope"], "“/nope”: no such file", "https://HOST/PATH"),
    Refused(["list", "--host", "http://a:1/b"], "“http://a:1/b” is a URL and no host", "write --prefix"),
    Refused(["doctor", "--new-fleet-key", "--json"], "--json does nothing", "leave one of them out"),
    Refused(["doctor", "--repair", "--new-fleet-key"], "--repair does nothing", "leave one of them out"),
    Refused(["-G", "--data-urlencode", "a b=c", "http://a/"], "-G: the data", "names by hand"),
  ]

  private static let options: [Refused] = [
    Refused(["--unheard-of", "http://a/"], "no option --unheard-of", "cachefetch help"),
    Refused(["--offlin", "http://a/"], "no option --offlin", "did you mean --offline?"),
    Refused(["-5", "http://a/"], "no option -5", "cachefetch help"),
    Refused(["--offline=x", "http://a/"], "--offline takes no value", "write --offline alone"),
    Refused(["--policy", "none", "http://a/"], "invalid value “none” for --policy", "stored-only"),
    Refused(
      ["--background", "--deadline", "1s", "http://a/"], "--background has a policy of its own", "--max-age D"
    ),
    Refused(["-o", "a", "http://a/", "http://b/"], "-o takes the body of one URL", "once for each"),
    Refused(["list", "--pin"], "--pin does not apply to list", "cachefetch help list"),
    Refused(["lst"], "“lst” is neither a verb nor a URL", "“list”"),
    Refused(["-q"], "missing URL", "usage: cachefetch"), Refused(["rm"], "nothing says", "name URLs"),
    Refused(["sign-out"], "sign-out needs an account", "--account NAME"),
    Refused(["unmark", "--pin"], "nothing says what to unmark", "name URLs"),
    Refused(["unmark", "http://a/"], "nothing says what to take", "--pin, or --tag TAG"),
    Refused(["unpin", "http://a/"], "neither a verb", "did you mean “unmark --pin”?"),
    Refused(["untag"], "neither a verb", "did you mean “unmark --tag TAG”?"),
    Refused(["POST", "http://a/"], "neither a verb", "write -X POST URL"),
    Refused(["diff", "-u", "http://a/"], "missing URL: -u has taken it", "USER:PASSWORD"),
    Refused(["rm", "-y", "http://a/"], "no option -y", "use --yes"),
    Refused(["--store", "", "http://a/"], "--store has an empty value", "--store PATH"),
  ]

  @Test(
    "Bad usage is one line that names the thing and the remedy, and 64", arguments: urls + requests + options)
  func usage(refused: Refused) async throws {
    let run = try await ChildProcess.run(BuiltProduct.cachefetch(), refused.words)
    #expect(run.status == 64 && run.output.isEmpty)
    #expect(run.errorText.hasPrefix("cachefetch: ") && run.errorText.split(separator: "\n").count == 1)
    let parts = run.errorText.split(separator: "; ", maxSplits: 1)
    #expect(parts.first?.contains(refused.thing) == true, "\(run.errorText)")
    #expect(parts.last?.contains(refused.remedy) == true, "\(run.errorText)")
  }

  /// A place for the store, what its message names, and the remedy.
  @Test(
    "A store that cannot be used is one line that names it and the remedy",
    arguments: [
      ("folder", "the store bad is a folder", "bad/store.sqlite"),
      ("text", "bad is not a store of cachefetch", "--store PATH"),
      ("database", "bad is not a store of cachefetch", "--store PATH"),
      ("newer", "the store bad was written by a newer release", "update cachefetch"),
      ("earlier", "an earlier version of this program made the store bad (schema 1", "that may write it"),
      ("link", "the store bad is a symbolic link", "name its target"),
      ("other", "bad is not a store as this release makes them (t)", "name another file"),
      ("damaged", "the store bad is damaged", "run “cachefetch doctor --repair --store bad”"),
    ])
  func unusableStore(kind: String, thing: String, remedy: String) async throws {
    let shell = try Shell()
    let path = shell.file("bad")
    switch kind {
    case "folder": mkdir(path, 0o700)
    case "text": try shell.store.folder.write("no database, and long enough to be sure of it", to: "bad")
    case "link": symlink(shell.store.path, path)
    case "database": try RawDatabase(path, create: true).execute("CREATE TABLE diary (entry TEXT)")
    case "newer":
      try RawDatabase(path, create: true).execute(
        "CREATE TABLE t (x); PRAGMA application_id = 1128678216; PRAGMA user_version = 99")
    case "earlier":
      try RawDatabase(path, create: true).execute(
        "CREATE TABLE t (x); PRAGMA application_id = 1128678216; PRAGMA user_version = 1")
    default:
      // A header that says it is ours, and behind it another's table, or nothing that could be read.
      try RawDatabase(path, create: true).execute(
        "CREATE TABLE t (x); PRAGMA application_id = 1128678216; PRAGMA user_version = 4")
      if kind == "damaged" { try RawDatabase(path).execute("DROP TABLE t") }
    }
    let offline = ["--store", "bad", "--offline", "http://127.0.0.1:1/"]
    for words in [["list", "--store", "bad"], offline] {
      let run = try await shell.run(words)
      #expect(run.status == 74 && run.output.isEmpty, "\(words)")
      #expect(run.errorText.split(separator: "\n").count == 1, "\(run.errorText)")
      #expect(run.errorText.contains(thing), "\(run.errorText)")
      #expect(run.errorText.split(separator: "; ").last?.contains(remedy) == true, "\(run.errorText)")
      #expect(
        run.errorText.split(separator: remedy, omittingEmptySubsequences: false).count == 2, "said once")
    }
  }

  @Test func `a command that may write repairs a damaged store, says so, and goes on`() async throws {
    let shell = try Shell()
    let bad = try RawDatabase(shell.file("bad"), create: true)
    try bad.execute("CREATE TABLE t (x); PRAGMA application_id = 1128678216; PRAGMA user_version = 4")
    try bad.execute("DROP TABLE t")
    let words = ["rm", "--store", "bad", "http://127.0.0.1:1/"]
    let first = try await shell.run(words)
    #expect(first.status == 0 && first.errorText.split(separator: "\n").count == 2, "\(first.errorText)")
    #expect(first.errorText.hasPrefix("cachefetch: the store bad was damaged and is kept as bad.damaged-"))
    let second = try await shell.run(words)
    #expect(second.status == 0 && !second.errorText.contains("damaged"), "\(second.errorText)")
  }

  @Test func `a command that may write begins a store of an earlier version anew, says so, and goes on`()
    async throws
  {
    let shell = try Shell()
    let made = "CREATE TABLE t (x); PRAGMA application_id = 1128678216; PRAGMA user_version = 1"
    try RawDatabase(shell.file("bad"), create: true).execute(made)
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    let words = ["--store", "bad", "--print", "last", origin.url]
    let first = try await shell.run(words)
    let said = "an earlier version of this program made the store bad: it is begun anew, and empty"
    #expect(first.status == 0 && first.outputText == "hello")
    #expect(first.errorText == "cachefetch: \(said)\n", "\(first.errorText)")
    let second = try await shell.run(["--store", "bad", "--offline", origin.url])
    #expect(second.status == 0 && second.outputText == "hello" && second.errorText.isEmpty)
    // A copy to be imported is left alone.
    try RawDatabase(shell.file("copy"), create: true).execute(made)
    let third = try await shell.run("import", shell.file("copy"))
    #expect(
      third.status == 65 && third.errorText.contains("export it anew with this release"), "\(third.errorText)"
    )
  }

  @Test func `words that are not UTF-8 are refused, not altered`() async throws {
    let run = try await ChildProcess.run(
      "/bin/sh",
      ["-c", "exec \"$0\" -d \"$(printf '\\377')\" http://127.0.0.1:1/", BuiltProduct.cachefetch()])
    #expect(run.status == 64 && run.errorText.contains("UTF-8"))
  }
}
