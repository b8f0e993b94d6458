import Testing
import TestTurns

@testable import cachefetch

@Suite("Completion: candidates", .inTurn) struct CompleterTests {
  private func texts(_ words: String...) -> [String] {
    let stored = Completer.Stored(
      accounts: { ["alice", "bob"] }, tags: { ["news"] },
      keys: { prefix in ["front page", "http"].filter { $0.hasPrefix(prefix) } },
      urls: { prefix in ["https://a/x", "https://b/y"].filter { $0.hasPrefix(prefix) } })
    return Completer(stored: stored).candidates(words).map(\.text)
  }

  @Test func `the first word is a verb or a stored URL`() {
    #expect(texts("st") == ["stats"])
    #expect(texts("") == Verb.allCases.map(\.rawValue) + ["https://a/x", "https://b/y"])
    #expect(texts("https://a") == ["https://a/x"])
  }

  @Test func `options are those of the verb`() {
    #expect(texts("--off") == ["--offline"])
    #expect(texts("list", "--off") == [])
    #expect(texts("list", "--so") == ["--sort"])
    #expect(texts("-i") == ["-i"])
    #expect(texts("--", "--off") == [])
  }

  @Test func `values are what the option takes`() {
    #expect(texts("--policy", "f") == ["fresh-only", "fresh-else-stored"])
    #expect(texts("--policy=h") == ["--policy=http"])
    #expect(texts("--account", "") == ["alice", "bob"])
    #expect(texts("list", "--tag", "n") == ["news"])
    #expect(texts("-o", "") == [])
    #expect(texts("-io", "") == [])
    #expect(texts("list", "--sort", "a") == ["age"])
  }

  @Test func `operands are what the verb takes`() {
    let stored = ["https://a/x", "https://b/y", "key:front page", "key:http"]
    #expect(texts("show", "") == stored && texts("rm", "") == stored && texts("rm", stored[0], "") == stored)
    #expect(texts("show", "ke") == ["key:front page", "key:http"])
    #expect(texts("rm", "key:f") == ["key:front page"] && texts("show", "key:x") == [])
    #expect(texts("rm", "http") == ["https://a/x", "https://b/y"])
    // Only where list's way of writing it is understood.
    #expect(texts("ke") == [] && texts("diff", "key:") == [])
    #expect(texts("show", "--key", "") == ["front page", "http"] && texts("--key=f") == ["--key=front page"])
    #expect(texts("show", "https://a/x", "") == [])
    #expect(texts("completions", "z") == ["zsh"])
    #expect(texts("help", "ma") == ["manual"] && texts("help", "ti") == ["tier"])
    #expect(texts("unmark", "ke") == ["key:front page", "key:http"])
    #expect(texts("import", "") == [])
    #expect(texts("-q", "--timeout", "5s", "wa") == ["watch"])
  }

  @Test func `an option's value may follow in its own word, or not at all`() {
    // The number of -Z may be left out.
    #expect(
      texts("-Z", "8", "wa") == ["watch"] && texts("-Z", "wa") == ["watch"]
        && texts("-iZ", "8", "wa") == ["watch"])
    #expect(texts("--parallel", "8", "wa") == ["watch"] && texts("--parallel", "wa") == ["watch"])
    #expect(texts("-Z", "8", "9", "wa") == [] && texts("-m", "5s", "8", "wa") == [])
    // A word that is no number is none of theirs.
    #expect(texts("-Z", "list", "--so") == ["--sort"] && texts("--parallel", "list", "--so") == ["--sort"])
    // What a letter takes may be joined to it.
    #expect(texts("-m5s", "wa") == ["watch"] && texts("-im", "wa") == [] && texts("-ij", "wa") == ["watch"])
    #expect(texts("--timeout=5s", "wa") == ["watch"] && texts("--none", "wa") == ["watch"])
  }

  @Test func `a hyphen alone is an operand, and two end the options`() {
    #expect(texts("-", "wa") == [] && texts("--", "wa") == ["watch"] && texts("--", "list", "--so") == [])
    #expect(texts("list", "-") == HelpText.options(of: .list).map(\.spelling))
    #expect(texts("--x=y") == [] && texts("-ij") == [])
  }

  @Test func `a key, a prefix and a method have values of their own`() {
    #expect(texts("list", "--prefix", "https://b") == ["https://b/y"])
    #expect(texts("-X", "P") == ["POST", "PUT", "PATCH"])
    #expect(texts("-H", "") == [])
  }

  @Test func `once there is an operand no verb comes any more`() {
    #expect(texts("https://a/x", "") == ["https://a/x", "https://b/y"])
    #expect(texts("diff", "https://a/x", "") == [] && texts("explain", "") == ["https://a/x", "https://b/y"])
    #expect(texts("get", "wa") == [] && texts("watch", "https://a") == ["https://a/x"])
    #expect(texts("help", "wa") == ["watch"])
  }

  @Test func `the store is the one that the line names`() {
    #expect(Completer.store(in: ["--store", "a", "show", ""]) == "a")
    #expect(Completer.store(in: ["show", "--store=a", "-q", "h"]) == "a")
    #expect(Completer.store(in: ["--store", "a", "--store=b", ""]) == "b")
    // One that is still typed, another option's value, an operand.
    for words in [[], ["--store", "a"], ["-o", "--store", "a"], ["--", "--store", "a", ""]] {
      #expect(Completer.store(in: words) == nil, "\(words)")
    }
  }

  @Test func `whoever shows help has some words on each`() {
    let completer = Completer(stored: .init())
    #expect(completer.candidates(["sta"]) == [.init(text: "stats", help: Verb.stats.summary)])
    #expect(completer.candidates(["list", "--rev"]).map(\.help) == [Option.row(.reverse).help(for: .list)])
    #expect(
      completer.candidates(["list", "-q"]) == [.init(text: "-q", help: Option.row(.quiet).help(for: .list))])
    #expect(completer.candidates(["--print=b"]) == [.init(text: "--print=both", help: "")])
    #expect(completer.candidates([]) == [])
    #expect(completer.candidates(["help", "man"]) == [.init(text: "manual", help: "the manual page")])
  }
}
