import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: durations and sizes", .inTurn) struct DurationTextTests {
  @Test(
    "A duration is a number and a unit, at most a hundred years",
    arguments: [
      ("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("2h", 7_200_000), ("7d", 604_800_000),
      ("1.5s", 1_500),
      ("0s", 0), ("9s", 9_000), ("0.123456s", 123), ("0.1234567s", nil), ("106751991167.9d", nil),
      ("1.2.3s", nil), (".5s", nil), ("1ms", 1), ("5", 5_000), ("0.5", 500), ("36500d", 3_153_600_000_000),
      ("36501d", nil), ("", nil),
      ("s", nil), ("-1s", nil), ("1.s", nil), ("1..5s", nil), ("1e3s", nil),
      ("99999999999999999999s", nil), ("99999999d", nil), ("5 m", nil), ("٣s", nil),
    ] as [(String, Int64?)])
  func duration(text: String, milliseconds: Int64?) {
    #expect(DurationText.parse(text) == milliseconds.map { .milliseconds($0) })
  }

  @Test(
    "What is too long is a duration all the same",
    arguments: [
      ("99999999d", true), ("99999999999999999999", true), ("36501d", true), ("36500d", false), ("5m", false),
      ("12345x", false), ("soon", false), ("1..5s", false), ("12345.s", false), ("", false),
      ("123456.5d", true), ("12345.6d", false),
      ("1234.1234567s", false), ("12345.6.7d", false), ("99999d", true), ("12345.1234567s", true),
    ])
  func tooLong(text: String, isTooLong: Bool) {
    #expect(DurationText.isTooLong(text) == isTooLong)
  }

  @Test(
    "A size is a number and a unit, in powers of 1,024",
    arguments: [
      ("64k", 65_536), ("10M", 10_485_760), ("1G", 1_073_741_824), ("512", 512), ("1.5k", 1_536),
      ("2KiB", 2_048), ("1kb", 1_024), ("1b", 1), ("1MB", 1_048_576), ("1MiB", 1_048_576),
      ("1gb", 1_073_741_824),
      ("1GiB", 1_073_741_824), ("1T", 1_099_511_627_776), ("1tb", 1_099_511_627_776),
      ("1TiB", 1_099_511_627_776),
      ("9", 9), ("0.5k", 512), ("0.999999k", 1_023), ("8388607.9T", 9_223_371_926_903_613_030),
      ("8388608T", nil),
      ("", nil), ("k", nil), ("-1", nil), ("1x", nil), ("99999999999999T", nil),
    ] as [(String, Int64?)])
  func size(text: String, bytes: Int64?) {
    #expect(SizeText.parse(text) == bytes)
  }
}
