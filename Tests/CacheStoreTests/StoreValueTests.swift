import PlatformFoundation
import Testing
import TestTurns

@testable import CacheStore

@Suite("Small values of the store", .inTurn) struct StoreValueTests {
  @Test("A store's own limits stand before the program's, each by itself") func limits() {
    let own = StoreLimits(maximumBytes: 1, maximumRows: 2, maximumAge: .seconds(3))
    let others = StoreLimits(maximumBytes: 4, maximumRows: 5, maximumAge: .seconds(6))
    #expect(own.over(others) == own && StoreLimits().over(others) == others && own.over(StoreLimits()) == own)
    #expect(
      StoreLimits(maximumBytes: 1).over(others)
        == StoreLimits(maximumBytes: 1, maximumRows: 5, maximumAge: .seconds(6)))
    #expect(
      StoreLimits(maximumRows: 2).over(others)
        == StoreLimits(maximumBytes: 4, maximumRows: 2, maximumAge: .seconds(6)))
    #expect(
      StoreLimits(maximumAge: .seconds(3)).over(others)
        == StoreLimits(maximumBytes: 4, maximumRows: 5, maximumAge: .seconds(3)))
  }

  @Test("Marks compare within one boot, law 8") func marks() {
    func mark(_ boot: String, _ nanoseconds: Int64) -> StartMark {
      StartMark(boot: boot, nanoseconds: nanoseconds)
    }
    for (one, other, isBefore) in [
      (mark("a", 1), mark("a", 2), true), (mark("a", 2), mark("a", 2), false),
      (mark("a", 3), mark("a", 2), false),
      (mark("a", 1), mark("b", 2), false), (mark("b", 1), mark("a", 2), false),
      (.imported, mark("a", 1), false),
    ] {
      #expect(one.isBefore(other) == isBefore, "\(one) and \(other)")
    }
  }

  @Test("A head's times, and what a 304 changes of them") func head() {
    func head(requestedAt: Int64? = nil, endedAt: Int64? = nil) -> ResponseHead {
      ResponseHead(
        status: 200, reason: "r", fields: ["A": "1"], url: "u", started: StartMark(boot: "b", nanoseconds: 1),
        requestedAt: requestedAt, receivedAt: 100, endedAt: endedAt)
    }
    for (requestedAt, endedAt, took) in [(nil, nil, 0), (90, nil, 10), (nil, 130, 30), (90, 130, 40)]
      as [(Int64?, Int64?, Int64)]
    {
      let head = head(requestedAt: requestedAt, endedAt: endedAt)
      #expect(
        head.requestedAt == requestedAt ?? 100 && head.receivedAt == 100 && head.exchangeMilliseconds == took,
        "\(took)")
    }
    let newer = ResponseHead(
      status: 304, reason: "x", fields: ["B": "2"], version: "2", url: "v",
      started: StartMark(boot: "c", nanoseconds: 2), requestedAt: 190, receivedAt: 200, endedAt: 230)
    var result = head()
    result.freshen(by: newer)
    #expect(result.status == 200 && result.reason == "r" && result.version == "1.1" && result.url == "u")
    #expect(result.fields == ["B": "2"] && result.started == newer.started)
    #expect(result.requestedAt == 190 && result.receivedAt == 200 && result.exchangeMilliseconds == 40)
  }

  @Test("A body is whole where its first chunk is all of it") func body() {
    for (length, isWhole) in [(0, false), (2, false), (3, true), (4, false)] as [(Int64, Bool)] {
      #expect(
        StoredResponse.Body(id: 1, length: length, firstChunk: Data("abc".utf8)).isWhole == isWhole,
        "\(length)")
    }
    #expect(StoredResponse.Body(id: 1, length: 0, firstChunk: Data()).isWhole)
  }
}
