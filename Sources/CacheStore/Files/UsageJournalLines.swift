/// Marks and counts as the lines of text in `STORE.uses`.
///
/// A mark is `m FILE ROW INSTANT`, a count `c FILE ACCOUNT STORED FRESH UNCHANGED FAILED BYTES MILLISECONDS HOST`, an event
/// `e FILE COUNT NAME`.
/// FILE is the inode of the database that assigned the identifiers. Any other line, as a power cut may leave, is
/// ignored.
struct UsageJournalLines: Equatable {
  /// A row and the time of its delivery.
  struct Mark: Equatable {
    var row: Int64
    var instant: Int64
  }

  /// The counts of an account and a host.
  struct Count: Equatable {
    var account: Int64
    var host: String
    var count: UsageCount
  }

  var marks: [Mark] = []
  var counts: [Count] = []
  var events: [String: Int64] = [:]

  var isEmpty: Bool { marks.isEmpty && counts.isEmpty && events.isEmpty }

  /// The lines for the database with that inode; `nil` where a count cannot be written as a line.
  func bytes(of file: UInt64) -> [UInt8]? {
    var text = ""
    for mark in marks { text += "m \(file) \(mark.row) \(mark.instant)\n" }
    for (name, count) in events { text += "e \(file) \(count) \(name)\n" }
    for entry in counts {
      let count = entry.count
      guard !entry.host.isEmpty, entry.host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
      text += "c \(file) \(entry.account) \(count.stored) \(count.fresh) \(count.unchanged) \(count.failed) "
      text += "\(count.savedBytes) \(count.savedMilliseconds) \(entry.host)\n"
    }
    return Array(text.utf8)
  }

  init() {}

  /// Parses the lines for the database with that inode: the latest mark of each row and the sum for each account and
  /// host.
  init(_ bytes: [UInt8], of file: UInt64) {
    var latest: [Int64: Int64] = [:]
    var sums: [String: [(account: Int64, count: UsageCount)]] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
      // An inode may be any number of 64 bits.
      guard words.count > 2, UInt64(words[1]) == file else { continue }
      let numbers = words.dropFirst(2).prefix { Self.number($0) != nil }.compactMap(Self.number)
      if words[0] == "m", words.count == 4, numbers.count == 2 {
        latest[numbers[0]] = max(numbers[1], latest[numbers[0]] ?? 0)
      } else if words[0] == "e", words.count == 4, let count = numbers.first {
        events[words[3], default: 0].saturate(adding: count)
      } else if words[0] == "c", words.count == 10, numbers.count >= 7 {
        var count = UsageCount()
        count.stored = numbers[1]
        count.fresh = numbers[2]
        count.unchanged = numbers[3]
        count.failed = numbers[4]
        count.savedBytes = numbers[5]
        count.savedMilliseconds = numbers[6]
        let host = words[9]
        if let place = sums[host]?.firstIndex(where: { $0.account == numbers[0] }) {
          sums[host]?[place].count += count
        } else {
          sums[host, default: []].append((numbers[0], count))
        }
      }
    }
    marks = latest.map { Mark(row: $0, instant: $1) }
    counts = sums.flatMap { host, counts in
      counts.map { Count(account: $0.account, host: host, count: $0.count) }
    }
  }

  /// A number from 0 to 2^52, so that sums do not overflow.
  private static func number(_ word: String) -> Int64? {
    guard let number = Int64(word), (0...1 << 52).contains(number) else { return nil }
    return number
  }
}
