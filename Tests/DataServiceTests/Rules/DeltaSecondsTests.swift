import DataService
import Testing
import TestTurns

@Suite("Delta seconds", .inTurn) struct DeltaSecondsTests {
  @Test(
    "Digits are seconds, whatever follows or precedes makes them none",
    arguments: [
      ("0", 0), ("10", 10), ("003600", 3600), ("", nil), ("-1", nil), ("+1", nil), ("1.0", nil), ("1a", nil),
      ("a1", nil), (" 1", nil), ("'1'", nil), ("١", nil),
    ] as [(String, Int64?)])
  func parse(text: String, expected: Int64?) {
    #expect(DeltaSeconds.parse(text) == expected)
  }

  @Test(
    "What overflows counts as 2^31",
    arguments: [
      "2147483647", "2147483648", "2147483649", "9223372036854775808", String(repeating: "9", count: 400),
    ])
  func overflow(text: String) {
    #expect(DeltaSeconds.parse(text) == (text == "2147483647" ? 2_147_483_647 : 2_147_483_648))
  }
}
