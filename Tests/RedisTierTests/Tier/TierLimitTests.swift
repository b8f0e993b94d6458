import CacheStore
import DataService
import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import RedisTier

@Suite("Limits of the tier, met exactly and passed by one", .inTurn) struct TierLimitTests {
  private static let second: Int64 = 1_000_000_000
  private static let patience: Int64 = 100_000_000
  private static let now = 100 * second

  // MARK: The head of a row

  /// Whether a head with that change is read.
  private func isRead(_ change: (inout SealedHead) -> Void) -> Bool {
    var head = SealedHeadTests.head
    change(&head)
    return head.bytes.flatMap { SealedHead($0) } == head
  }

  @Test func `a part of a head is one that an exchange can just have brought`() {
    let longest: Int64 = 3_155_760_000_000
    #expect(isRead { $0.status = 100 } && isRead { $0.status = 599 })
    #expect(!isRead { $0.status = 99 } && !isRead { $0.status = 600 })
    #expect(isRead { $0.ticket = 1 } && !isRead { $0.ticket = 0 })
    #expect(isRead { $0.offeredAt = 0 } && !isRead { $0.offeredAt = -1 })
    for part in [\SealedHead.age, \SealedHead.delay, \SealedHead.exchange] {
      #expect(isRead { $0[keyPath: part] = 0 } && isRead { $0[keyPath: part] = longest }, "\(part)")
      #expect(!isRead { $0[keyPath: part] = -1 } && !isRead { $0[keyPath: part] = longest + 1 }, "\(part)")
    }
    for (reason, isFine) in [
      ("a\tb", true), ("a b", true), ("~", true), ("\u{1F}", false), ("\u{7F}", false),
    ] {
      #expect(isRead { $0.reason = reason } == isFine, "\(reason)")
    }
    for (name, isFine) in [("!", true), ("~", true), (" ", false), ("\u{7F}", false), ("", false)] {
      #expect(isRead { $0.wire = Array("\(name): 1\r\n".utf8) } == isFine, "\(name)")
    }
  }

  @Test func `a head of the greatest length is written and read, one byte more is neither`() throws {
    var head = SealedHeadTests.head
    (head.length, head.body) = (0, [])
    let length = try #require(head.bytes).count
    let room = SealedHead.lengthLimit - length + head.wire.count
    let wire = { (count: Int) in
      Array("A: ".utf8) + [UInt8](repeating: 0x41, count: count - 5) + [0x0D, 0x0A]
    }
    head.wire = wire(room)
    let bytes = try #require(head.bytes)
    #expect(bytes.count == SealedHead.lengthLimit && SealedHead(bytes) == head)
    head.wire = wire(room + 1)
    #expect(head.bytes == nil)
  }

  @Test func `a body stands in the row up to its limit, and has no piece more than it needs`() {
    var head = SealedHeadTests.head
    head.length = Int64(SealedHead.inlineLimit)
    head.body = [UInt8](repeating: 1, count: SealedHead.inlineLimit)[...]
    #expect(isRead { $0 = head } && head.chunks == 0)
    let piece = Int64(SealedHead.chunkLength)
    for (length, chunks) in [
      (Int64(SealedHead.inlineLimit) + 1, 1), (piece, 1), (piece + 1, 2), (2 * piece, 2), (2 * piece + 1, 3),
    ] {
      head.length = length
      #expect(head.chunks == chunks, "\(length)")
    }
  }

  // MARK: Files

  @Test func `four keys are read, and a file of 4096 bytes`() throws {
    let line = FleetKey.generate() + "\n"
    #expect(try FleetKey.keys(in: String(repeating: line, count: 4)).count == 4)
    let folder = try TemporaryFolder()
    let path = try folder.write([UInt8](repeating: 0x41, count: 4_096), to: "secret")
    chmod(path, 0o600)
    #expect(try SecretFile.line(of: path).utf8.count == 4_096)
  }

  // MARK: The URL

  @Test func `numbers and names in a URL are taken up to their limits`() {
    func isTaken(_ text: String) -> Bool { (try? RedisAddress(text)) != nil }
    for (port, isFine) in [(1, true), (65_535, true), (0, false), (65_536, false)] {
      #expect(isTaken("redis://h:\(port)?key-file=/k") == isFine, "\(port)")
    }
    let socket = { (count: Int) in
      "redis+unix:///" + String(repeating: "s", count: count - 1) + "?key-file=/k"
    }
    #expect(isTaken(socket(2)) && isTaken(socket(107)) && !isTaken(socket(108)) && !isTaken(socket(1)))
    #expect(isTaken("redis://h?key-file=/k&patience=000060000ms"))
    #expect(!isTaken("redis://h?key-file=/k&patience=0000060000ms"))
    for (keep, seconds) in [("90s", 90), ("5m", 300), ("3h", 10_800), ("2d", 172_800)] {
      #expect((try? RedisAddress("redis://h?key-file=/k&keep=\(keep)"))?.keep == .seconds(seconds), "\(keep)")
    }
    for (size, bytes) in [("7", 7), ("1K", 1_024), ("2M", 2_097_152)] {
      let address = try? RedisAddress("redis://h?key-file=/k&max-body=\(size)")
      #expect(address?.terms.largestBody == Int64(bytes), "\(size)")
    }
  }

  @Test func `a name that is three letters off is suggested, one that is four off is not`() {
    func hint(_ name: String) -> String? {
      do {
        _ = try RedisAddress("redis://h?key-file=/k&\(name)=1")
        return nil
      } catch { return error.hint }
    }
    #expect(hint("patixxxe") == "did you mean patience?")
    #expect(hint("patxxxxe")?.hasPrefix("the parameters are") == true)
    // A letter put in, left out, replaced.
    #expect(hint("keeep") == "did you mean keep?")
    #expect(hint("eep") == "did you mean keep?")
    #expect(hint("keez") == "did you mean keep?")
    #expect(hint("ience") == "did you mean patience?")
    // Of two that are as near, the first.
    #expect(hint("xxx-file") == "did you mean key-file?")
  }

  // MARK: Replies

  /// The reply in these pieces.
  private func reply(_ pieces: [UInt8]...) throws(RESPReader.Problem) -> RESPValue? {
    var reader = RESPReader()
    var value: RESPValue?
    for piece in pieces {
      reader.append(piece)
      value = try reader.next() ?? value
    }
    return value
  }

  @Test func `a reply has as many values as are allowed, in an array and in a map`() throws {
    let values = { (count: Int) in Array(String(repeating: ":1\r\n", count: count).utf8) }
    #expect(try reply(Array("*1023\r\n".utf8) + values(1_023))?.elements?.count == 1_023)
    #expect(try reply(Array("%511\r\n".utf8) + values(1_022))?.elements?.count == 1_022)
    for text in ["*1024\r\n", "%512\r\n"] {
      #expect(throws: RESPReader.Problem.tooLarge, "\(text)") { try reply(Array(text.utf8) + values(1_024)) }
    }
  }

  @Test func `a line is 4094 bytes long and its end`() throws {
    let line = { (count: Int) in Array("+".utf8) + [UInt8](repeating: 0x41, count: count - 1) }
    #expect(try reply(line(4_094), Array("\r\n".utf8))?.bytes?.count == 4_093)
    #expect(try reply(line(4_094) + Array("\r\n".utf8))?.bytes?.count == 4_093)
    #expect(throws: RESPReader.Problem.tooLarge) { try reply(line(4_095), Array("\r\n".utf8)) }
    #expect(throws: RESPReader.Problem.tooLarge) { try reply(line(4_095) + Array("\r\n".utf8)) }
  }

  @Test func `a reply that is waited for is 2 MiB long at most`() throws {
    /// An array of five strings, of that many bytes in all.
    func array(of length: Int) -> [UInt8] {
      var bytes = Array("*5\r\n".utf8)
      for number in 0..<5 {
        let rest = length - bytes.count
        let count = number < 4 ? 400_000 : rest - 11
        bytes += Array("$\(count)\r\n".utf8) + [UInt8](repeating: 0x41, count: count) + [0x0D, 0x0A]
      }
      return bytes
    }
    let most = 2 << 20
    let longest = array(of: most)
    #expect(longest.count == most)
    #expect(try reply(Array(longest.dropLast()), Array(longest.suffix(1)))?.elements?.count == 5)
    #expect(throws: RESPReader.Problem.tooLarge) { try reply(Array(array(of: most + 1).dropLast())) }
  }

  // MARK: Silence

  private func silence() -> Silence { Silence(patience: Self.patience) }

  @Test func `a silence ends at its instant, and one that is longer than any is none`() {
    var mark = (Self.now + 5 * Self.second) | 1
    var process = silence()
    #expect(process.decide(at: Self.now + 5 * Self.second - 1, mark: &mark) == .silent(1))
    #expect(process.decide(at: Self.now + 5 * Self.second, mark: &mark) == .ask)

    let longest = Silence.longest + 4 * Self.patience
    mark = (Self.now + longest) | 1
    process = silence()
    #expect(process.decide(at: Self.now, mark: &mark) == .silent(longest))
    #expect(process.decide(at: Self.now - 1, mark: &mark) == .ask)
  }

  @Test func `seven slow answers are answers, the eighth is none`() {
    var mark: Int64 = 0
    var process = silence()
    for count in 1...8 {
      #expect(process.decide(at: Self.now, mark: &mark) == .ask, "\(count)")
      process.answered(at: Self.now, isSlow: true, mark: &mark)
      #expect((mark < 0) == (count < 8), "\(count)")
    }
  }

  @Test func `an answer at the first instant of a boot is known to all`() {
    for now in [0, 1, 15, 16, 17] as [Int64] {
      var mark: Int64 = 0
      var process = silence()
      #expect(process.decide(at: now, mark: &mark) == .ask, "\(now)")
      process.answered(at: now, isSlow: false, mark: &mark)
      #expect(mark < 0, "\(now)")
    }
  }

  @Test func `however often it has failed, a silence is a minute long`() {
    var (mark, now) = (Int64(0), Self.now)
    for count in 1...40 {
      var process = silence()
      #expect(process.decide(at: now, mark: &mark) == .ask, "\(count)")
      process.failed(at: now, mark: &mark)
      var other = silence()
      guard case .silent(let rest) = other.decide(at: now, mark: &mark) else {
        Issue.record("it is asked after \(count) failures")
        return
      }
      #expect(rest <= Silence.longest, "\(count)")
      #expect(rest > (count < 5 ? 4 : 59) * Self.second, "\(count)")
      now += rest
    }
  }

  @Test func `a value that did not open counts for a minute, and ten begin anew`() {
    for (last, isCounted) in [(60 * Self.second, true), (60 * Self.second + 1, false)] {
      var process = silence()
      /// Whether one of so many values was one too many.
      func isTooMany(_ count: Int, at instant: Int64) -> Bool {
        (0..<count).map { _ in process.didNotOpen(at: instant) }.contains(true)
      }
      #expect(isTooMany(1, at: Self.now) == false, "\(last)")
      #expect(isTooMany(8, at: Self.now + 1) == false, "\(last)")
      #expect(isTooMany(1, at: Self.now + last) == isCounted, "\(last)")
      guard isCounted else { continue }
      #expect(isTooMany(9, at: Self.now + last) == false, "it begins anew")
      #expect(isTooMany(1, at: Self.now + last), "it begins anew")
    }
  }
}
