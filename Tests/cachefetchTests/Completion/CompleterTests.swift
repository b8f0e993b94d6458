import Testing
import TestTurns

@testable import cachefetch

@Suite("Completion: candidates", .inTurn) struct CompleterTests {
  private func texts(_ words: String...) -> [String] {
    let stored = Completer.Stored(
      accounts: { ["alice", "bob"] }, tags: { ["news"] },
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
    #expect(texts("show", "") == ["https://a/x", "https://b/y"])
    #expect(texts("show", "https://a/x", "") == [])
    #expect(texts("completions", "z") == ["zsh"])
    #expect(texts("help", "ma") == ["manual"])
    #expect(texts("import", "") == [])
    #expect(texts("-q", "--timeout", "5s", "wa") == ["watch"])
  }
}
