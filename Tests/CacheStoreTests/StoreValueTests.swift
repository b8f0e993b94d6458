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
    func head(requestedAt: Int64? = nil, endedAt: Int64? = nil) -> ReceivedHead {
      ReceivedHead(
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
    let newer = ReceivedHead(
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

  @Test("What was cut off has an account, a key, a target and an instant, and nothing else of a row")
  func cutOff() {
    func selects(_ change: (inout EntrySelection) -> Void) -> Bool {
      var selection = EntrySelection.all
      change(&selection)
      return selection.selectsCutOff
    }
    let kept = [
      selects { _ in }, selects { $0.accounts = ["a"] }, selects { $0.key = RequestKey(target: "t") },
      selects { $0.prefix = "https://" }, selects { $0.host = "a" },
      selects { $0.receivedBeforeMilliseconds = 1 },
    ]
    #expect(kept == Array(repeating: true, count: 6))
    let left = [
      selects { $0.tag = "t" }, selects { $0.rowIDs = [1] }, selects { $0.targets = ["t"] },
      selects { $0.minimumBytes = 1 }, selects { $0.isPinned = false }, selects { $0.isGood = true },
    ]
    #expect(left == Array(repeating: false, count: 6))
  }

  @Test("The mark of an exchange is even, that of a row of a tier odd, and an import is no tier's")
  func oddMarks() {
    for (nanoseconds, even, odd) in [(0, 0, 1), (1, 0, 1), (2, 2, 1), (3, 2, 3), (4, 4, 3), (5, 4, 5)]
      as [(Int64, Int64, Int64)]
    {
      let mark = StartMark(boot: "b", nanoseconds: nanoseconds)
      #expect(mark.even == StartMark(boot: "b", nanoseconds: even), "\(nanoseconds)")
      #expect(mark.odd == StartMark(boot: "b", nanoseconds: odd), "\(nanoseconds)")
      #expect(mark.isFromElsewhere == (nanoseconds % 2 == 1), "\(nanoseconds)")
    }
    #expect(StartMark.imported == StartMark(boot: "import", nanoseconds: 0))
    #expect(!StartMark.imported.isFromElsewhere)
  }

  @Test("What no exchange of this machine brought or confirmed is unconfirmed") func unconfirmed() {
    for (version, boot, isLocal, isImported) in [
      ("1.1", "b", false, false), ("0", "b", true, false), ("1.1", "import", false, true),
      ("0", "import", true, true),
    ] {
      var row = StoredResponse.blank
      row.head.version = version
      row.head.started.boot = boot
      #expect(row.isLocal == isLocal && row.isImported == isImported, "\(version), \(boot)")
      #expect(row.isUnconfirmed == (isLocal || isImported), "\(version), \(boot)")
    }
  }

  @Test("Numbers of a row are brought into the range of their column") func clamped() {
    for (value, instant, count) in [
      (Int64.min, -62_135_596_800_000, 0), (-62_135_596_800_001, -62_135_596_800_000, 0),
      (-62_135_596_800_000, -62_135_596_800_000, 0), (-1, -1, 0), (0, 0, 0), (1, 1, 1),
      (8_796_093_022_208, 8_796_093_022_208, 8_796_093_022_208),
      (8_796_093_022_209, 8_796_093_022_209, 8_796_093_022_208),
      (253_402_300_799_999, 253_402_300_799_999, 8_796_093_022_208),
      (253_402_300_800_000, 253_402_300_799_999, 8_796_093_022_208),
      (.max, 253_402_300_799_999, 8_796_093_022_208),
    ] as [(Int64, Int64, Int64)] {
      #expect(value.asInstant == instant && value.asCount == count, "\(value)")
    }
    for (status, clamped) in [(100, 100), (999, 999), (99, 999), (1000, 999), (-1, 999)] {
      var value = status
      value.clamp(to: .status)
      #expect(value == clamped, "\(status)")
      var other = status
      other.clamp(to: .counts)
      #expect(other == status, "only a status")
    }
  }

  @Test("Statistics begin with nothing") func statistics() {
    let part = StoreStatistics.Part(account: "a", host: "h")
    #expect(part.rows == 0 && part.bytes == 0 && part.deliveries == UsageCount())
    let none = StoreStatistics()
    #expect(none.parts.isEmpty && none.rows == 0 && none.bytes == 0 && none.pinnedRows == 0)
    #expect(none.fileBytes == 0 && none.logBytes == 0 && none.limitBytes == 0)
    let use = StoreUse()
    #expect(use.rows == 0 && use.pinnedRows == 0 && use.fileBytes == 0 && use.oldestReceivedAt == nil)
  }

  /// What another release left of a removal is found by it.
  @Test("The hash of a target is XXH3-64 without a seed") func targetHash() {
    #expect(Checksum.ofTarget("") == 0x2D06_8005_38D3_94C2)
    #expect(Checksum.ofTarget("a") != Checksum.ofTarget("b"))
  }
}
