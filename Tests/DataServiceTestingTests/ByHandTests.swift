import DataService
import PlatformFoundation
import TestTurns
import Testing

/// What a preview or the test of a view makes by itself, with the public product alone.
@Suite("Responses and deliveries by hand", .inTurn) struct ByHandTests {
  typealias Delivery = DataService.Delivery<String>
  typealias Response = DataService.Response<String>

  private let stored = Delivery.stored(Response("one", source: .stored, age: .seconds(60)))
  private let fresh = Delivery.fresh(Response("two", source: .fresh), .changed)
  private let failure = Delivery.failure(
    DataServiceError(.offline, "no network"), lastKnown: Response("one", source: .stored))

  /// The screen of an application: what it shows of a load, whoever makes it.
  private func shown(_ deliveries: DataService.Deliveries<String>) async -> [String] {
    var shown: [String] = []
    for await delivery in deliveries {
      switch delivery {
      case .stored(let response): shown.append("stored \(response.value)")
      case .fresh(let response, let change): shown.append("\(change) \(response.value)")
      case .failure(let error, let last): shown.append("\(error.kind.name), \(last?.value ?? "nothing")")
      }
    }
    return shown
  }

  @Test func `a response says what it was made of`() throws {
    let received = Date(timeIntervalSince1970: 1_000_000_000.5)
    let url = try #require(URL(string: "https://api.example.com/news"))
    let made = Response(
      "one", source: .stored, status: 203, fields: ["Cache-Control": "max-age=60"], url: url,
      receivedAt: received, age: .seconds(59), kept: .no(.full))
    #expect(made.value == "one" && made.source == .stored && made.status == 203 && made.url == url)
    #expect(made.fields["cache-control"] == "max-age=60" && made.receivedAt == received)
    #expect(made.age == .seconds(59) && !made.isStale && !made.wasValidated && made.kept == .no(.full))
  }

  @Test func `a response of which nothing more is said is a 200 of just now, kept, and nobody's`() {
    let made = DataService.Response(Data("four".utf8), source: .fresh)
    #expect(made.source == .fresh && made.status == 200 && made.fields.isEmpty && made.kept == .yes)
    #expect(made.age == .zero && made.url.host()?.hasSuffix(".invalid") == true)
    #expect(made.head.bodyLength == 4)
  }

  @Test(arguments: [(59, false), (60, true)])
  func `staleness follows from fields and age`(seconds: Int, isStale: Bool) {
    let fields: HTTPFields = ["Cache-Control": "max-age=60"]
    let made = Response("one", source: .stored, fields: fields, age: .seconds(seconds))
    #expect(made.isStale == isStale)
  }

  @Test func `what decodes a response is tested without a service`() throws {
    struct News: Decodable { var edition: Int }
    let decode: @Sendable (DataService.Response<Data>) throws -> Int = { response in
      try JSONDecoder().decode(News.self, from: response.value).edition
    }
    #expect(try decode(.init(Data(#"{"edition": 7}"#.utf8), source: .fresh)) == 7)
    #expect(throws: DecodingError.self) { try decode(.init(Data("<html>".utf8), source: .fresh)) }
  }

  @Test func `a failure by status has the answer with it`() {
    let answer = DataService.Response(Data("no such thing".utf8), source: .fresh, status: 404)
    let error = DataServiceError.status(of: answer)
    #expect(error.kind == .status && error.status == 404 && error.response == answer)
    #expect(error.message == "origin.invalid answered 404" && !error.isRetryable)
  }

  @Test func `progress and warnings say what they were made of`() {
    let progress = DataService.TransferProgress(received: 3, expected: nil)
    #expect(progress.received == 3 && progress.expected == nil)
    let warning = DataService.Warning(.store, "the store is damaged", hint: "restart")
    #expect(warning.kind == .store && warning.message == "the store is damaged" && warning.hint == "restart")
  }

  @Test func `a list of deliveries comes in order, for every iteration anew`() async {
    let deliveries = DataService.Deliveries([stored, fresh])
    for _ in 1...2 { #expect(await shown(deliveries) == ["stored one", "changed two"]) }
    #expect(await shown(.init([stored, failure])) == ["stored one", "offline, one"])
    #expect(await shown(.init([])) == [])
  }

  @Test func `a stream is followed while a test fills it`() async {
    let (stream, test) = AsyncStream.makeStream(of: Delivery.self)
    var iterator = DataService.Deliveries { stream }.makeAsyncIterator()
    test.yield(stored)
    #expect(await iterator.next() == stored)
    test.yield(failure)
    test.finish()
    #expect(await iterator.next() == failure)
    #expect(await iterator.next() == nil)
  }

  @Test func `a loop that is left leaves the stream`() async {
    let (stream, test) = AsyncStream.makeStream(of: Delivery.self)
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    test.onTermination = { _ in end.finish() }
    test.yield(stored)
    for await delivery in DataService.Deliveries({ stream }) {
      #expect(delivery == stored)
      break
    }
    // Comes once nobody reads the stream any more, and never otherwise.
    for await _ in ends {}
  }

  private static func cancelThisTask() { withUnsafeCurrentTask { $0?.cancel() } }

  @Test func `a cancelled task gets nothing more`() async {
    // Cancelled between two deliveries: who asks for one meanwhile may get what comes at that moment.
    let (stream, test) = AsyncStream.makeStream(of: Delivery.self)
    let deliveries = DataService.Deliveries { stream }
    let reader = Task { [fresh] in
      var seen: [Delivery] = []
      for await delivery in deliveries {
        seen.append(delivery)
        Self.cancelThisTask()
        test.yield(fresh)
      }
      return seen
    }
    test.yield(stored)
    #expect(await reader.value == [stored])
  }

  @Test func `a task that is cancelled while it waits for a delivery waits no longer`() async {
    let (stream, test) = AsyncStream.makeStream(of: Delivery.self)
    let deliveries = DataService.Deliveries { stream }
    let (firsts, first) = AsyncStream.makeStream(of: Void.self)
    let reader = Task {
      var seen: [Delivery] = []
      for await delivery in deliveries {
        seen.append(delivery)
        first.finish()
      }
      return seen
    }
    test.yield(stored)
    for await _ in firsts {}
    reader.cancel()
    #expect(await reader.value == [stored])
  }
}
