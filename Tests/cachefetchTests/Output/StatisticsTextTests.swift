import RedisTier
import Testing
import TestTurns

@testable import CacheStore
@testable import cachefetch

@Suite("Output: statistics and findings", .inTurn) struct StatisticsTextTests {
  private static let parts: [StoreStatistics.Part] = {
    var one = StoreStatistics.Part(account: "", host: "a.example", rows: 2, bytes: 1_000)
    one.deliveries.stored = 3
    one.deliveries.fresh = 4
    one.deliveries.unchanged = 5
    one.deliveries.failed = 1
    one.deliveries.savedBytes = 2_000
    one.deliveries.savedMilliseconds = 30
    var other = StoreStatistics.Part(account: "auto:0123456789abcdef", host: "b\u{9B}", rows: 1, bytes: 500)
    other.deliveries.savedBytes = 500
    other.deliveries.savedMilliseconds = 12
    return [one, other]
  }()

  private static var statistics: StoreStatistics {
    var statistics = StoreStatistics()
    statistics.pinnedRows = 1
    statistics.fileBytes = 4_096
    statistics.logBytes = 32
    statistics.limitBytes = 1_000_000
    return statistics
  }

  private static let one =
    "a.example: 2 entries · delivered 3 from the store, 4 fresh, 5 confirmed by 304, 1 failure\n"
  private static let whole = """
    entries  3, 1.5 kB of bodies, 1 pinned
    file     4.1 kB of at most 1.0 MB, and 32 B of log
    saved    2.5 kB of transfer, 42 ms of waiting

    """

  @Test func `the whole, and a line for each account and host`() {
    #expect(
      StatisticsText.text(Self.statistics, Self.parts, width: nil)
        == Self.whole + Self.one
        + "b<U+009B>  [auto:0123456789abcdef]: 1 entry · delivered 0 from the store, 0 fresh, 0 confirmed by 304, 0 failures\n"
    )
    #expect(
      StatisticsText.text(Self.statistics, Self.parts, width: 40)
        == Self.whole + "a.example: 2 entries\n  delivered 3 from the store, 4 fresh,\n"
        + "  5 confirmed by 304, 1 failure\n"
        + "b<U+009B>  [auto:01234567…]: 1 entry\n  delivered 0 from the store, 0 fresh,\n"
        + "  0 confirmed by 304, 0 failures\n")
  }

  @Test func `a line as long as the window is wide stays whole, and no count is cut off on 80 columns`() {
    let line = String(Self.one.dropLast())
    let parts = [Self.parts[0]]
    #expect(StatisticsText.text(Self.statistics, parts, width: line.count).hasSuffix("\n" + line + "\n"))
    #expect(
      StatisticsText.text(Self.statistics, parts, width: line.count - 1).hasSuffix(
        "\na.example: 2 entries\n  delivered 3 from the store, 4 fresh, 5 confirmed by 304, 1 failure\n"))
  }

  @Test func `in the narrowest window the name is cut, not its entries`() {
    let text = StatisticsText.text(Self.statistics, [Self.parts[0]], width: 16)
    #expect(text.contains("\na.ex…: 2 entries\n"), "\(text)")
    let lines: [Substring] = text.split(separator: "\n")
    #expect(lines.suffix(4).allSatisfy { $0.count <= 16 }, "\(text)")
  }

  @Test func `of one account's entries it does not say how many the whole store has pinned`() {
    let text = StatisticsText.text(Self.statistics, [Self.parts[0]], isWhole: false, width: nil)
    #expect(text.hasPrefix("entries  2, 1.0 kB of bodies\nfile     4.1 kB of "), "\(text)")
  }

  @Test func `its JSON object has every count`() {
    #expect(
      String(decoding: StatisticsText.line(Self.parts[0]), as: UTF8.self)
        == #"{"account":"","host":"a.example","rows":2,"bytes":1000,"stored":3,"fresh":4,"unchanged":5,"failed":1,"#
        + #""saved_bytes":2000,"saved_ms":30}"# + "\n")
  }

  @Test func `a finding has its remedy below it`() {
    let findings = [
      StoreFinding("a", .fine, "well"), StoreFinding("b", .wrong, "ill\u{9B}", remedy: .repair),
      StoreFinding("c", .repaired, "better"),
    ]
    #expect(
      FindingText.text(findings) == """
        fine   a: well
        wrong  b: ill<U+009B>
               run “cachefetch doctor --repair”
        repaired  c: better

        """)
    #expect(
      findings.map { String(decoding: FindingText.line($0), as: UTF8.self) } == [
        #"{"subject":"a","severity":"fine","message":"well"}"# + "\n",
        #"{"subject":"b","severity":"wrong","message":"ill\u009b","remedy":"run “cachefetch doctor --repair”"}"#
          + "\n",
        #"{"subject":"c","severity":"repaired","message":"better"}"# + "\n",
      ])
  }

  @Test func `what the fleet's tier has done is said where there was one`() {
    #expect(StatisticsText.shared(TierCounts()) == "")
    #expect(StatisticsText.line(TierCounts()).isEmpty)
    let counts = TierCounts(asked: 2, stored: 3, offered: 4, silent: 5)
    let shared = "tier     asked for 2 exchanges, 3 stored, 4 offered, silent for 5\n"
    #expect(StatisticsText.shared(counts) == shared)
    let metrics = MetricsText.text(StoreStatistics(), [], TierCounts(asked: 2, waitedMicroseconds: 1_500_000))
    #expect(metrics.contains("\ncachefetch_tier_wait_seconds_total 1.5\n"), "\(metrics)")
    #expect(
      StatisticsText.text(Self.statistics, Self.parts, counts, width: nil)
        .hasPrefix(Self.whole + shared + Self.one))
    #expect(
      String(decoding: StatisticsText.line(counts), as: UTF8.self)
        == #"{"tier_asked":2,"tier_stored":3,"tier_offered":4,"tier_silent":5}"# + "\n")
  }
}
