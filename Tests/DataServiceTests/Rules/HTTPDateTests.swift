import DataService
import Testing
import TestTurns

@Suite("HTTP dates", .inTurn) struct HTTPDateTests {
  @Test(
    "All three forms are read",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "Sun Nov 06 08:49:37 1994",
    ])
  func forms(text: String) {
    #expect(HTTPDate.parse(text) == Rule.noon)
    #expect(HTTPDate.parse(text, now: Rule.noon) == Rule.noon)
  }

  @Test(
    "Case does not matter",
    arguments: [
      "SUN, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 gMT",
    ])
  func lenience(text: String) {
    #expect(HTTPDate.parse(text) == Rule.noon)
  }

  @Test(
    "Everything else is no date",
    arguments: [
      "", "0", "-1", "now", "784111777", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 EST",
      "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 utc", "Sunday, 06-Nov-94 08:49:37 UTC",
      "Sun, 06 Nov 1994 08:49:37 Z",
      "Sun, 06 Nov 1994 08:49:37 +0000", "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun, 06  Nov  1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
      "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
      "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
      "Mon, 32 Oct 1994 08:49:37 GMT", "Thu, 30 Feb 2000 08:49:37 GMT", "Mon, 31 Apr 2000 08:49:37 GMT",
      "Sun, 31 Nov 1994 08:49:37 GMT", "Fri, 31 Jun 1994 08:49:37 GMT", "Sat, 31 Sep 1994 08:49:37 GMT",
      "Fri, 32 Dec 1993 08:49:37 GMT",
      "Sun, 29 Feb 1995 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
      "Sun, 06 Foo 1994 08:49:37 GMT", "Foo, 06 Nov 1994 08:49:37 GMT", " Sun, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 08:49:37 GMTx", "Sun Nov 6 08:49:37 1994",
      "Sun Nov  6 08:49:37 1994 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
      "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:3７ GMT",
    ])
  func strict(text: String) {
    #expect(HTTPDate.parse(text) == nil)
  }

  @Test("A leap day exists in leap years, and a leap second is read as the next second") func leaps() throws {
    #expect(HTTPDate.parse("Tue, 29 Feb 2000 00:00:00 GMT") == 951_782_400_000)
    let leap = try #require(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT"))
    #expect(HTTPDate.format(leap) == "Sun, 01 Jan 2017 00:00:00 GMT")
  }

  @Test(
    "The last day of each month is one",
    arguments: zip(
      ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
      [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]))
  func lastDays(month: String, day: Int) throws {
    let text = "\(day) \(month) 1994 08:49:37 GMT"
    // The day's name is not compared with the date.
    let instant = try #require(HTTPDate.parse("Sun, " + text))
    #expect(HTTPDate.format(instant).hasSuffix(text))
    #expect(HTTPDate.parse("Sun, \(day + 1) \(month) 1994 08:49:37 GMT") == nil)
  }

  @Test(
    "A two-digit year more than 50 years ahead is the most recent one in the past",
    arguments: [
      ("Sunday, 06-Nov-94 08:49:37 GMT", 1994), ("Sunday, 06-Nov-44 08:49:37 GMT", 2044),
      ("Sunday, 06-Nov-45 08:49:37 GMT", 1945), ("Sunday, 06-Nov-00 08:49:37 GMT", 2000),
    ])
  func twoDigitYears(text: String, year: Int) throws {
    let instant = try #require(HTTPDate.parse(text, now: Rule.noon))
    #expect(HTTPDate.format(instant).contains(" \(year) "))
  }

  @Test("Without a clock a two-digit year lies between 1970 and 2069") func twoDigitYearsAlone() throws {
    for (text, year) in [
      ("Monday, 05-Jan-70 00:00:00 GMT", 1970), ("Saturday, 05-Jan-69 00:00:00 GMT", 2069),
    ] {
      let instant = try #require(HTTPDate.parse(text))
      #expect(HTTPDate.format(instant).contains(" \(year) "), "\(text)")
    }
  }

  @Test(
    "A century without a leap day goes from February to March",
    arguments: [
      (4_107_542_400_000, "Sun, 28 Feb 2100 23:59:59 GMT", "Mon, 01 Mar 2100 00:00:00 GMT"),
      (7_263_216_000_000, "Fri, 28 Feb 2200 23:59:59 GMT", "Sat, 01 Mar 2200 00:00:00 GMT"),
      (10_418_889_600_000, "Wed, 28 Feb 2300 23:59:59 GMT", "Thu, 01 Mar 2300 00:00:00 GMT"),
    ] as [(Int64, String, String)])
  func centuries(march: Int64, before: String, first: String) {
    #expect(HTTPDate.format(march - 1) == before && HTTPDate.format(march) == first)
    #expect(HTTPDate.parse(before) == march - 1000 && HTTPDate.parse(first) == march)
  }

  @Test("A two-digit year is read whatever the clock says", arguments: [.min, -1, 0, .max] as [Int64])
  func twoDigitYearsAtExtremes(now: Int64) {
    #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: now) != nil)
  }

  @Test(
    "Writing gives the fixed form, to the second below",
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (999, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"),
      (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 GMT"), (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
      (.min, "Sat, 01 Jan 0000 00:00:00 GMT"),
    ] as [(Int64, String)])
  func writing(milliseconds: Int64, expected: String) {
    #expect(HTTPDate.format(milliseconds) == expected)
  }

  @Test("Reading inverts writing for every day from year 0 to 9999 that is tried") func inverse() {
    var second: Int64 = -62_167_219_200
    while second <= 253_402_300_799 {
      let text = HTTPDate.format(second * 1000)
      if HTTPDate.parse(text) != second * 1000 {
        Issue.record("\(text) is not read back")
        return
      }
      second += 86_400 * 397 + 12_347
    }
  }
}
