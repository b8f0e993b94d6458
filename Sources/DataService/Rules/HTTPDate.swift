/// Dates in field values (RFC 9110 section 5.6.7): parses all three forms, writes one.
package enum HTTPDate {
  /// The instant in the text, in milliseconds since 1970-01-01 UTC, or `nil` if the text is not a date.
  ///
  /// Accepts only the forms of the grammar, though letters are compared without case (RFC 9111 section 4.2). Any zone
  /// but GMT is rejected, even UTC. The day name must be valid but is not checked against the date.
  ///
  /// - Parameters:
  ///   - text: An `IMF-fixdate`, an `rfc850-date` or an `asctime-date`.
  ///   - now: The reference for a two-digit year: a year more than 50 years ahead is taken to be in the past. Without
  ///     it, such a year lies between 1970 and 2069.
  package static func parse(_ text: String, now: Int64? = nil) -> Int64? {
    // The longest form has 33 bytes.
    guard text.utf8.count <= 40 else { return nil }
    let bytes = text.utf8.map(\.asciiLowercased)
    for form in [imfFixdate, rfc850Date, asctimeDate] {
      var scanner = DateScanner(bytes: bytes, now: now)
      if form(&scanner), scanner.isAtEnd { return scanner.milliseconds }
    }
    return nil
  }

  /// The instant as an `IMF-fixdate`, rounded down to the second and clamped to the years 0 to 9999.
  package static func format(_ milliseconds: Int64) -> String {
    let seconds = clamped(milliseconds).floorDivided(by: 1000)
    let days = seconds.floorDivided(by: 86_400)
    let second = Int(seconds - days * 86_400)
    let (year, month, day) = Calendar.date(ofDay: days)
    let weekday = Int((days + 4).floorModulo(7))
    return String(unsafeUninitializedCapacity: 29) { text in
      _ = text.initialize(fromContentsOf: "Sun, 00 Jan 0000 00:00:00 GMT".utf8)
      func put(_ name: String, at place: Int) {
        var place = place
        for byte in name.utf8 {
          text[place] = byte
          place += 1
        }
      }
      func put(_ number: Int, at place: Int) {
        text[place] += UInt8(number / 10)
        text[place + 1] += UInt8(number % 10)
      }
      put(shortDays[weekday], at: 0)
      put(day, at: 5)
      put(months[month - 1], at: 8)
      put(year / 100, at: 12)
      put(year % 100, at: 14)
      put(second / 3600, at: 17)
      put(second / 60 % 60, at: 20)
      put(second % 60, at: 23)
      return 29
    }
  }

  /// The instant clamped to the years 0 to 9999, so that no sum overflows.
  static func clamped(_ milliseconds: Int64) -> Int64 { min(max(milliseconds, earliest), latest) }

  private static let earliest: Int64 = -62_167_219_200_000
  private static let latest: Int64 = 253_402_300_799_000

  private static func imfFixdate(_ scanner: inout DateScanner) -> Bool {
    scanner.name(of: shortDays) != nil && scanner.skip(", ") && scanner.readDay() && scanner.skip(" ")
      && scanner.readMonth()
      && scanner.skip(" ") && scanner.readYear(digits: 4) && scanner.skip(" ") && scanner.time()
      && scanner.zone()
  }

  private static func rfc850Date(_ scanner: inout DateScanner) -> Bool {
    scanner.name(of: longDays) != nil && scanner.skip(", ") && scanner.readDay() && scanner.skip("-")
      && scanner.readMonth()
      && scanner.skip("-") && scanner.readYear(digits: 2) && scanner.skip(" ") && scanner.time()
      && scanner.zone()
  }

  private static func asctimeDate(_ scanner: inout DateScanner) -> Bool {
    scanner.name(of: shortDays) != nil && scanner.skip(" ") && scanner.readMonth() && scanner.skip(" ")
      && scanner.readDay(mayBeginWithSpace: true) && scanner.skip(" ") && scanner.time() && scanner.skip(" ")
      && scanner.readYear(digits: 4)
  }

  private static let shortDays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let longDays = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]
  static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

/// Scans the parts of a date from left to right; every method returns whether, or with which value, its part was
/// present.
private struct DateScanner {
  let bytes: [UInt8]
  let now: Int64?
  private var position = 0
  private var year = 0
  private var month = 0
  private var day = 0
  private var second = 0

  init(bytes: [UInt8], now: Int64?) {
    self.bytes = bytes
    self.now = now
  }

  var isAtEnd: Bool { position == bytes.count }

  /// The instant, or `nil` if the month has no such day.
  var milliseconds: Int64? {
    guard day >= 1, day <= Calendar.days(inMonth: month, of: year) else { return nil }
    return (Calendar.day(year: year, month: month, day: day) * 86_400 + Int64(second)) * 1000
  }

  mutating func skip(_ text: String) -> Bool {
    let expected = text.utf8.map(\.asciiLowercased)
    guard bytes[position...].starts(with: expected) else { return false }
    position += expected.count
    return true
  }

  mutating func name(of names: [String]) -> Int? {
    for (index, name) in names.enumerated() where skip(name) { return index }
    return nil
  }

  mutating func digits(_ count: Int) -> Int? {
    guard position + count <= bytes.count else { return nil }
    var value = 0
    for byte in bytes[position..<position + count] {
      guard byte.isAsciiDigit else { return nil }
      value = value * 10 + Int(byte - 0x30)
    }
    position += count
    return value
  }

  mutating func readDay(mayBeginWithSpace: Bool = false) -> Bool {
    let found = mayBeginWithSpace && skip(" ") ? digits(1) : digits(2)
    day = found ?? 0
    return found != nil
  }

  mutating func readMonth() -> Bool {
    guard let index = name(of: HTTPDate.months) else { return false }
    month = index + 1
    return true
  }

  mutating func readYear(digits count: Int) -> Bool {
    guard let found = digits(count) else { return false }
    year = count == 4 ? found : century(of: found)
    return true
  }

  mutating func time() -> Bool {
    guard let hours = digits(2), skip(":"), let minutes = digits(2), skip(":"), let seconds = digits(2),
      hours < 24, minutes < 60, seconds <= 60
    else { return false }
    second = hours * 3600 + minutes * 60 + seconds
    return true
  }

  mutating func zone() -> Bool { skip(" gmt") }

  private func century(of twoDigits: Int) -> Int {
    guard let now else { return twoDigits < 70 ? 2000 + twoDigits : 1900 + twoDigits }
    let current = Calendar.date(ofDay: HTTPDate.clamped(now).floorDivided(by: 86_400_000)).year
    let latest = current + 50
    return latest - (latest - twoDigits) % 100
  }
}

/// The proleptic Gregorian calendar in whole days since 1970-01-01.
private enum Calendar {
  private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  static func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Years begin in March here, so that the leap day is the last day of its year.
  static func day(year: Int, month: Int, day: Int) -> Int64 {
    let shifted = Int64(month <= 2 ? year - 1 : year)
    let era = shifted.floorDivided(by: 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = Int64((153 * ((month + 9) % 12) + 2) / 5 + day - 1)
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  static func date(ofDay day: Int64) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468
    let era = shifted.floorDivided(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
    let year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    return (year, month, Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1))
  }
}
