import DataService
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: watch, delivery by delivery", .inTurn) struct WatchCommandTests {
  private typealias Delivery = WatchCommand.Delivery

  /// Runs a `watch` whose loads deliver that, one after the other, whichever URL they are of. After them the
  /// resource is gone.
  @MainActor private func run(
    _ words: [String], isVerbose: Bool = false, _ loads: [[Delivery]]
  ) throws -> (status: Status, lines: [String]) {
    let streams = try WrittenStreams(isVerbose: isVerbose)
    let plan = try WatchPlan(try ArgumentParser.parse(["watch", "--every", "10ms"] + words))
    let gone = fresh(410)
    let rest = Mutex(loads)
    let source = ScriptedLoads { rest.withLock { $0.isEmpty ? [gone] : $0.removeFirst() } }
    let status = WatchCommand(plan, source, streams.diagnostics).run()
    return (status, streams.errors.text.split(separator: "\n").map(String.init))
  }

  /// A fresh response with the same body as all of them.
  private func fresh(
    _ status: Int, _ change: DataService.Change = .unchanged, from url: String = "http://a.example/y"
  ) -> Delivery {
    let response = Sample.response([0x61]) { head in
      head.status = status
      head.url = url
    }
    return .fresh(response, change)
  }

  @Test @MainActor func `-f ends it at a status of 400, and at none below`() throws {
    let first = try run(["-f", "http://a.example/x"], [[fresh(400, .new)]])
    #expect(first.status == .httpFailure)
    #expect(first.lines == ["cachefetch: http://a.example/x: answered 400 OK"])
    let later = try run(["-f", "http://a.example/x"], [[fresh(399, .new)], [fresh(400)]])
    #expect(later.status == .httpFailure)
    #expect(later.lines == ["cachefetch: http://a.example/x: status 399 → 400"])
  }

  @Test(arguments: ["http://b.example/y?c", "http://b.example?c", "http://b.example#c", "http://b.example"])
  @MainActor func `an outage names the host that answered, and is over with the next answer`(
    url: String
  ) throws {
    let ended = try run(
      ["--until-changed", "http://a.example/x"],
      [[fresh(200, .new)], [fresh(503, from: url)], [fresh(200)], [fresh(404)]])
    #expect(ended.status == .success && ended.lines.count == 3, "\(ended.lines)")
    #expect(ended.lines.first?.hasPrefix("cachefetch: http://a.example/x: b.example answered 503 OK") == true)
    #expect(ended.lines.contains { $0.hasPrefix("cachefetch: http://a.example/x: answers again, after ") })
    #expect(ended.lines.last == "cachefetch: http://a.example/x: status 200 → 404")
  }

  @Test @MainActor func `the first stored response is what is compared with, and -v says how old it is`()
    throws
  {
    let stored = Delivery.stored(Sample.response([0x61], isStored: true))
    let other = Delivery.stored(Sample.response([0x62], isStored: true) { $0.status = 404 })
    let ended = try run(
      ["--until-changed", "http://a.example/x"], isVerbose: true,
      [[stored, fresh(200)], [other, fresh(404)]])
    #expect(ended.status == .success)
    #expect(
      ended.lines == [
        "* http://a.example/x: the baseline is from 5 seconds ago",
        "cachefetch: http://a.example/x: status 200 → 404",
      ])
  }

  @Test func `an outage that cannot be printed ends it with 74`() async throws {
    let shell = try Shell()
    let run = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c", #""$0" watch --json --retry 0 --every 1h "$1" > /dev/full"#, BuiltProduct.cachefetch(),
        "http://127.0.0.1:1/",
      ],
      environment: shell.environment)
    #expect(run.status == 74, "\(run.exit)")
    #expect(run.errorText.contains("standard output cannot be written"), "\(run.errorText)")
  }

  @Test @MainActor func `the change that is awaited counts, however the other URLs fare`() throws {
    let down = Delivery.failure(DataServiceError(.refused, "refused"), lastKnown: nil)
    let ended = try run(
      ["--until-changed", "http://a.example/x", "http://b.example/x"],
      [[fresh(200, .new)], [down], [fresh(404)]])
    #expect(ended.status == .success, "\(ended.lines)")
    let isSaid = ended.lines.contains { $0.hasPrefix("cachefetch: http://b.example/x: refused") }
    #expect(isSaid, "\(ended.lines)")
  }
}
