import FixtureServer
import FoundationEssentials
import TestSupport
import Testing

/// Every shell block of docs/recipes.md, run as a reader would run it.
@Suite("Recipes", .timeLimit(.minutes(1))) struct RecipeTests {
  struct Recipe: Sendable, CustomTestStringConvertible {
    let title: String
    let script: String
    var testDescription: String { title }
  }

  private static var page: String {
    "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/") + "/docs/recipes.md"
  }

  static let recipes: [Recipe] = {
    var recipes: [Recipe] = []
    var (title, script): (String, String?) = ("", nil)
    let text = (try? String(contentsOf: URL(filePath: page), encoding: .utf8)) ?? ""
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if let begun = script, line == "```" {
        recipes.append(Recipe(title: title, script: begun))
        script = nil
      } else if let begun = script {
        script = begun + line + "\n"
      } else if line == "```sh" {
        script = ""
      } else if line.hasPrefix("## ") {
        title = String(line.dropFirst(3))
      }
    }
    return recipes
  }()

  @Test func `there is one for prompt, status line, cron, watching, deadline and CI`() {
    #expect(Self.recipes.count >= 6)
  }

  @Test(arguments: recipes) func `it works the first time and the second`(recipe: Recipe) async throws {
    var shell = try Shell()
    let folder = try BuiltProduct.cachefetch().split(separator: "/").dropLast().joined(separator: "/")
    shell.environment["PATH"] = "/\(folder):/usr/bin:/bin"
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok("{\"path\":\"\(request.path)\"}\n", ["Content-Type": "application/json"]))
    }
    let script = recipe.script.replacing(#/https:\/\/[a-z.]*example\.com/#, with: origin.url)
    for _ in 1...2 {
      let run = try await ChildProcess.run(
        "/bin/bash", ["-euo", "pipefail", "-c", script], environment: shell.environment,
        directory: shell.store.folder.path)
      #expect(run.status == 0, "\(run.outputText)\(run.errorText)")
    }
  }

  @Test func `the cron recipe tells what changed, once`() async throws {
    var shell = try Shell()
    let folder = try BuiltProduct.cachefetch().split(separator: "/").dropLast().joined(separator: "/")
    shell.environment["PATH"] = "/\(folder):/usr/bin:/bin"
    let origin = try ChangingOrigin(.ok("one\n"))
    let recipe = try #require(
      Self.recipes.first { $0.title.contains("changes") && $0.script.contains("diff") })
    // What cron runs each hour; the first line only fills the store.
    let script = recipe.script.split(separator: "\n").filter { !$0.contains("the first time") }
      .joined(separator: "\n").replacing(#/https:\/\/[a-z.]*example\.com[a-z\/.]*/#, with: origin.url)
    _ = try await shell.run(origin.url)
    func hourly() async throws -> String {
      try await ChildProcess.run(
        "/bin/bash", ["-euo", "pipefail", "-c", script], environment: shell.environment
      )
      .outputText
    }
    #expect(try await hourly() == "")
    origin.answer(.ok("two\n"))
    let told = try await hourly()
    #expect(told.contains("-one") && told.contains("+two"))
    #expect(try await hourly() == "")
  }
}
