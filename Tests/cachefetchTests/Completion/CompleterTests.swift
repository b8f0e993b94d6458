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
    #expect(texts("help", "ma") == ["manual"])
    #expect(texts("import", "") == [])
    #expect(texts("-q", "--timeout", "5s", "wa") == ["watch"])
  }
}
