import PlatformFoundation
import Testing
import TestTurns

@testable import DataService
@testable import cachefetch

@Suite("Output: figures in words", .inTurn) struct WordsTests {
  @Test(
    "An age is in its largest unit, rounded",
    arguments: [
      (0, "just now"), (1, "1 second ago"), (59, "59 seconds ago"), (60, "1 minute ago"),
      (89, "1 minute ago"),
      (90, "2 minutes ago"), (118, "2 minutes ago"), (3_540, "59 minutes ago"), (3_569, "59 minutes ago"),
      (3_570, "1 hour ago"), (5_399, "1 hour ago"), (5_400, "2 hours ago"), (10_800, "3 hours ago"),
      (170_999, "47 hours ago"), (171_000, "2 days ago"), (172_800, "2 days ago"), (215_999, "2 days ago"),
      (216_000, "3 days ago"), (5_140_799, "59 days ago"), (5_140_800, "2 months ago"),
      (5_184_000, "2 months ago"),
      (6_479_999, "2 months ago"), (6_480_000, "3 months ago"), (60_911_999, "23 months ago"),
      (60_912_000, "2 years ago"), (78_839_999, "2 years ago"), (78_840_000, "3 years ago"),
      (94_608_000, "3 years ago"),
    ])
  func age(seconds: Int, words: String) {
    #expect(Words.age(.seconds(seconds)) == words)
  }

  @Test(
    "The time something took is rounded, and a long one has two units",
    arguments: [
      (0, "0.0 ms"), (49, "0.0 ms"), (50, "0.1 ms"), (3_440, "3.4 ms"), (3_460, "3.5 ms"), (9_949, "9.9 ms"),
      (9_950, "10 ms"), (120_000, "120 ms"), (10_499, "10 ms"), (10_500, "11 ms"), (999_499, "999 ms"),
      (999_500, "1.0 s"), (1_960_000, "2.0 s"), (2_540_000, "2.5 s"), (59_949_999, "59.9 s"),
      (59_950_000, "1 minute"), (61_000_000, "1 minute 1 s"), (118_000_000, "1 minute 58 s"),
      (119_499_999, "1 minute 59 s"), (119_500_000, "2 minutes"), (180_000_000, "3 minutes"),
      (3_599_499_999, "59 minutes 59 s"), (3_599_500_000, "1 hour"), (3_629_000_000, "1 hour"),
      (3_630_000_000, "1 hour 1 minute"), (7_500_000_000, "2 hours 5 minutes"),
      (172_769_000_000, "47 hours 59 minutes"), (172_770_000_000, "2 days"), (200_000_000_000, "2 days"),
    ])
  func elapsed(microseconds: Int64, words: String) {
    #expect(Words.elapsed(.microseconds(microseconds)) == words)
  }

  @Test("A time that nothing took has words too") func longest() {
    #expect(Words.elapsed(.milliseconds(Int64.max)) == "285388 years")
  }

  @Test(
    "A size is rounded, in powers of 1,000",
    arguments: [
      (0, "0 B"), (512, "512 B"), (999, "999 B"), (1_000, "1.0 kB"), (1_049, "1.0 kB"), (1_050, "1.1 kB"),
      (1_960, "2.0 kB"), (10_240, "10.2 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
      (999_949_999, "999.9 MB"), (999_950_000, "1.0 GB"), (1_440_000_000, "1.4 GB"),
      (1_999_999_999, "2.0 GB"),
      (12_345_600_000_000, "12345.6 GB"),
    ])
  func size(bytes: Int64, words: String) {
    #expect(Words.size(bytes) == words)
  }

  @Test(
    "A span that somebody has set is exact",
    arguments: [
      (7_776_000_000, "90 days"), (129_600_000, "36 hours"), (86_400_000, "1 day"), (60_000, "1 minute"),
      (90_000, "90 seconds"), (1_000, "1 second"), (1_500, "1500 ms"), (1, "1 ms"), (3_600_000, "1 hour"),
    ])
  func exactly(milliseconds: Int64, words: String) {
    #expect(Words.exactly(.milliseconds(milliseconds)) == words)
  }

  @Test func `every reason why something is not kept has words of its own, and one to come its name`() throws
  {
    let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    let files = ["Kept", "Shared"].map { "\(root)/Sources/DataService/Values/\($0).swift" }
    let source = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
    let names = source.matches(of: #/= Self\("(?<name>[A-Za-z?]+)"\)/#).map { String($0.name) }
    let words = names.map { Words.unkept(DataService.KeptReason($0)) }
    #expect(names.count >= 18 && Set(words).count == names.count)
    for (name, word) in zip(names, words) { #expect(name != word && !word.isEmpty, "\(name)") }
    #expect(Words.unkept(.noStore) == "no-store" && Words.unkept(.init("later")) == "later")
  }
}
