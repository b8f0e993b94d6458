import CacheStore
import DataService
import Launch
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: what preload is asked to do", .inTurn) struct PreloadArgumentsTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func plan(_ words: String...) throws(UsageError) -> PreloadPlan {
    try PreloadArguments(try ArgumentParser.parse(["preload"] + words)).plan
  }

  private func failure(_ words: String...) -> UsageError? {
    do throws(UsageError) {
      _ = try PreloadArguments(try ArgumentParser.parse(["preload"] + words))
      return nil
    } catch {
      return error
    }
  }

  @Test func `a URL given twice is one step`() throws {
    #expect(try plan("http://a/", "http://b/", "http://a/").steps.map(\.name) == ["http://a/", "http://b/"])
  }

  @Test func `a request that changes something is refused, and one that only reads is not`() throws {
    let refused = try #require(failure("-X", "POST", "-d", "x", "http://a/"))
    #expect(refused.message == "preload would send POST, whose answer is not stored")
    #expect(refused.remedy.contains("--read"))
    #expect(try plan("-X", "POST", "--read", "-d", "x", "http://a/").steps.count == 1)
  }

  @Test func `everything is waited for, as the options say`() throws {
    let plain = try plan("http://a/")
    #expect(
      plain.readiness == .allFresh && !plain.finishesIntoStore && plain.deadline == nil && plain.maxAge == nil
    )
    #expect(plain.onFailure == .useStored)
    let other = try plan(
      "--deadline", "2s", "--max-age", "3s", "--parallel", "4", "--on-failure", "fail", "http://a/")
    #expect(other.deadline == .seconds(2) && other.maxAge == .seconds(3) && other.parallelism == 4)
    #expect(other.onFailure == .fail)
    #expect(try plan("-Z9", "http://a/").parallelism == 9)
  }

  @Test(
    arguments: [
      (nil, .useStored), ("stored", .useStored), ("ask", .ask), ("fail", .fail), ("retry:1", .retry(1)),
      ("retry:100", .retry(100)),
    ] as [(String?, PreloadPlan.FailureRule)])
  func `each rule of --on-failure is read`(text: String?, rule: PreloadPlan.FailureRule) throws {
    #expect(try PreloadArguments.failureRule(text) == rule)
  }

  @Test(arguments: ["retry:0", "retry:101", "retry:", "retry:x", "try:1", "", "Ask"])
  func `a text that is no rule of --on-failure is refused`(text: String) {
    #expect(throws: UsageError.self) { try PreloadArguments.failureRule(text) }
  }

  @Test func `a file is a plan by its first sign or its name, else a list`() throws {
    let json = #"{"steps":[{"name":"n","url":"http://a/"}]}"#
    for (name, text) in [("p", json), ("q", "\u{FEFF} \n\t\r" + json), ("r.json", json)] {
      #expect(try plan(folder.write(text, to: name)).steps.map(\.name) == ["n"], "\(name)")
    }
    #expect(try plan(folder.write("http://a/\nhttp://b/\n", to: "list")).steps.count == 2)
    for (name, text) in [("a", "[1]"), ("b.json", "http://a/")] {
      let wrong = failure(try folder.write(text, to: name))
      #expect(wrong?.line.contains("a plan is {") == true && wrong?.status == .badData, "\(name)")
    }
    let list = failure(try folder.write("http://a/\nx y\n", to: "c"))
    #expect(list?.message.contains("c, line 2: ") == true && list?.status == .badData)
  }

  @Test func `a file stands alone, and is there`() throws {
    let file = try folder.write("http://a/", to: "list")
    #expect(failure(file, "http://a/")?.line.contains("a file stands alone") == true)
    #expect(failure("http://a/", file)?.line.contains("a file stands alone") == true)
    #expect(failure("a.example/x")?.line.contains("write a whole URL: https://a.example/x") == true)
  }

  @Test func `what a plan's request leaves open is as the options say`() throws {
    let json = """
      {"steps":[{"name":"n","url":"http://a/","fields":{"X":"1","Authorization":"own"},"account":"b","tags":["u"]},
      {"name":"m","url":"http://a/"}]}
      """
    let file = try folder.write(json, to: "p")
    let steps = try plan("-u", "a:b", "-H", "Y: 2", "--tag", "t", "--account", "a", file).steps
    let (own, plain) = (steps[0].request, steps[1].request)
    #expect(
      own.fields.values(of: "Authorization") == ["own"] && own.fields["X"] == "1" && own.fields["Y"] == "2")
    #expect(own.account == .named("b") && own.tags == ["t", "u"])
    #expect(plain.fields.values(of: "Authorization") == ["Basic YTpi"] && plain.account == .named("a"))
    #expect(plain.tags == ["t"])
  }
}
