import CacheStore
import DataService
import Launch
import PlatformFoundation
import Testing
import TestTurns

@Suite("Plans from files: complete, or refused with the place", .inTurn) struct PlanFileTests {
  @Test func `a plan in JSON says everything a plan can`() throws {
    let json = """
      {"deadline_ms": 3000, "readiness": "stored-is-enough", "parallel": 4, "max_age_ms": 60000, "steps": [
        {"name": "feed", "url": "https://news.example.com/feed", "weight": 2, "account": "alice",
         "fields": {"Accept": "application/json"}, "tags": ["launch"]},
        {"url": "https://news.example.com/advert", "critical": false}]}
      """
    let plan = try PreloadPlan(json: Data(json.utf8))
    #expect(plan.deadline == .seconds(3))
    #expect(plan.maxAge == .seconds(60))
    #expect(plan.readiness == .storedIsEnough)
    #expect(plan.parallelism == 4)
    #expect(plan.steps.map(\.name) == ["feed", "https://news.example.com/advert"])
    #expect(plan.steps.map(\.isCritical) == [true, false])
    #expect(plan.steps.map(\.weight) == [2, 1])
    #expect(plan.steps.first?.request.account == .named("alice"))
    #expect(plan.steps.first?.request.fields["Accept"] == "application/json")
    #expect(plan.steps.first?.request.tags == ["launch"])
  }

  static let refused: [(json: String, message: String)] = [
    ("{}", "line 1: “steps” is missing"),
    (#"{"steps": [{}]}"#, "line 1: steps 1: “url” is missing"),
    ("{\"steps\": [\n{\"url\": \"http://a/\"},\r\n\n{}]}", "line 4: steps 2: “url” is missing"),
    (
      #"{"steps": [{"url": "ftp://a/b"}]}"#,
      "line 1: step 1: “ftp://a/b” is not an http or https URL with a host"
    ),
    (
      #"{"steps": [{"url": "http://a/", "critcal": true}]}"#,
      "line 1: steps 1: “critcal” is no name of a plan; there are account, critical, fields, name, tags, url, weight"
    ),
    (
      "{\"steps\": [\n{\"url\": \"http://a/\",\n\"weight\": 0}]}",
      "line 2: step 1: a weight is a positive number"
    ),
    (#"{"steps": [{"url": "http://a/", "tags": ["t", ""]}]}"#, "line 1: step 1: a tag has no name"),
    (#"{"steps": [{"url": "http://a/", "account": ""}]}"#, "line 1: step 1: an account has no name"),
    (
      #"{"steps": [{"url": "http://a/", "account": "a\nb"}]}"#,
      "line 1: step 1: the name of an account has a line break or another control character in it"
    ),
    (
      #"{"steps": [{"url": "http://a/", "tags": ["\u0085"]}]}"#,
      "line 1: step 1: the name of a tag has a line break or another control character in it"
    ),
    (
      #"{"steps": [{"url": "http://a/", "name": "x"}, {"url": "http://b/", "name": "x"}]}"#,
      "line 1: step 2: the name “x” is taken by an earlier step"
    ),
    (
      #"{"readiness": "soon", "steps": []}"#,
      "line 1: readiness “soon” is none of all-fresh, critical-fresh, stored-is-enough"
    ),
    ("{\n\"steps\": [],\n\"deadline_ms\": -1}", "line 3: deadline_ms is negative"),
    (#"{"parallel": 0, "steps": []}"#, "line 1: parallel is a number from 1 to 1000"),
    ("{\n\"steps\": [\n}", "line 3: the plan is not JSON from here on"),
    ("{\n\n\"steps\": [],\n,}", "line 4: the plan is not JSON from here on"),
    ("{\n\"steps\": [],\n}", "line 3: the plan is not JSON from here on"),
    ("{\"steps\":\n[{\"url\": \"http://a/\"},]}", "line 2: the plan is not JSON from here on"),
    ("{\"steps\":\n[{\"url\": \"http://a/\n\"}]}", "line 2: the plan is not JSON from here on"),
    ("{\"steps\": []}\n\n}", "line 3: the plan is not JSON from here on"),
    ("{\"steps\": [],\n\"parallel\": six}", "line 2: the plan is not JSON from here on"),
    ("{\"steps\": [],\n\"parallel\": 0x6}", "line 2: the plan is not JSON from here on"),
    ("", "line 1: the plan is not JSON from here on"),
    (
      "{\"steps\": [\n{\"url\": 7}]}",
      "line 2: steps 1 url: a text in quotation marks is wanted here"
    ),
    ("[]", "line 1: an object in braces is wanted here"),
    ("null", "line 1: an object in braces is wanted here"),
    ("7", "line 1: an object in braces is wanted here"),
    ("{\n\"steps\": {}}", "line 2: steps: an array in brackets is wanted here"),
    ("{\n\"steps\": null}", "line 2: steps: an array in brackets is wanted here"),
    (#"{"steps": [7]}"#, "line 1: steps 1: an object in braces is wanted here"),
    (#"{"steps": [{"url": null}]}"#, "line 1: steps 1 url: a text in quotation marks is wanted here"),
    (
      #"{"steps": [{"url": "http://a/", "critical": 1}]}"#,
      "line 1: steps 1 critical: true or false is wanted here"
    ),
    (
      #"{"steps": [{"url": "http://a/", "fields": ["a"]}]}"#,
      "line 1: steps 1 fields: an object in braces is wanted here"
    ),
    (
      #"{"steps": [{"url": "http://a/", "tags": [1]}]}"#,
      "line 1: steps 1 tags 1: a text in quotation marks is wanted here"
    ),
    (
      #"{"steps": [], "parallel": 1.5}"#,
      "line 1: parallel: this number is too large, or not a whole one"
    ),
    (
      #"{"steps": [], "deadline_ms": 99999999999999999999}"#,
      "line 1: deadline_ms: this number is too large, or not a whole one"
    ),
    (
      #"{"steps": [{"url": "http://a/", "weight": 1e999}]}"#,
      "line 1: the plan is not JSON from here on"
    ),
  ]

  @Test("a plan that is wrong is refused with the place and the reason", arguments: refused)
  func refusal(json: String, message: String) {
    let error = #expect(throws: PlanError.self) { try PreloadPlan(json: Data(json.utf8)) }
    #expect(error?.description == message)
  }

  @Test func `a list has one URL a line; empty lines and comments count as lines only`() throws {
    let plan = try PreloadPlan(list: "# news\r\n\r\n http://a.test/1 \r\nhttp://a.test/2\rhttp://a.test/1")
    #expect(plan.steps.map(\.name) == ["http://a.test/1", "http://a.test/2"])
  }

  @Test func `a byte-order mark before a list is passed over, and is part of a URL elsewhere`() throws {
    for text in ["\u{FEFF}http://a.test/1\n", "\u{FEFF}\r\nhttp://a.test/1", "\u{FEFF}# a\nhttp://a.test/1"] {
      #expect(try PreloadPlan(list: text).steps.map(\.name) == ["http://a.test/1"], "\(text)")
    }
    #expect(try PreloadPlan(list: "\u{FEFF}").steps.isEmpty)
    let error = #expect(throws: PlanError.self) { try PreloadPlan(list: "# a\n\u{FEFF}http://a.test/1") }
    #expect(error?.line == 2)
  }

  @Test func `what no URL may have is encoded, and what is encoded stays`() throws {
    let plan = try PreloadPlan(list: "http://a.test/%20?x[]=%2F|")
    #expect(plan.steps.map(\.request.url.absoluteString) == ["http://a.test/%20?x%5B%5D=%2F%7C"])
  }

  @Test func `a malformed list is refused with its line number`() throws {
    let error = #expect(throws: PlanError.self) {
      try PreloadPlan(list: "http://a.test/1\n\n# fine\nnot a url\u{1B}[2J\n")
    }
    #expect(error?.line == 4)
    #expect(error?.message == "“not a url[2J” is not a URL")
  }

  @Test func `a host that is not in ASCII is encoded or refused, and a caller may read URLs in its own way`()
    throws
  {
    // Whether Foundation encodes it depends on the parts of it that the program has.
    do throws(PlanError) {
      let plan = try PreloadPlan(list: "https://bücher.example/a")
      #expect(plan.steps.map(\.request.url.absoluteString) == ["https://xn--bcher-kva.example/a"])
    } catch {
      #expect(error.line == 1 && error.message.contains("not in ASCII"))
    }
    func read(_ text: String) throws(PlanError) -> URL { try PreloadPlan.url("https://a.test/" + text) }
    let list = try PreloadPlan(list: "news", readURL: read)
    #expect(list.steps.map(\.request.url.absoluteString) == ["https://a.test/news"])
    let plan = try PreloadPlan(json: Data(#"{"steps": [{"url": "news"}]}"#.utf8), readURL: read)
    #expect(plan.steps.map(\.request.url.absoluteString) == ["https://a.test/news"])
    func refuse(_ text: String) throws(PlanError) -> URL { throw PlanError("not today") }
    let error = #expect(throws: PlanError.self) { try PreloadPlan(list: "# a\nnews", readURL: refuse) }
    #expect(error?.description == "line 2: not today")
  }
}
