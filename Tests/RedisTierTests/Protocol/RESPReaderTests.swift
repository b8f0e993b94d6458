import TestSupport
import TestTurns
import Testing

@testable import RedisTier

@Suite("The Redis protocol", .inTurn) struct RESPReaderTests {
  private func replies(_ text: String) throws -> [RESPValue] {
    var reader = RESPReader()
    reader.append(Array(text.utf8))
    var replies: [RESPValue] = []
    while let reply = try reader.next() { replies.append(reply) }
    #expect(reader.isEmpty)
    return replies
  }

  private static let forms: [(String, RESPValue)] = [
    ("+OK\r\n", .string(Array("OK".utf8))), ("+\r\n", .string([])),
    ("-ERR no\r\n", .error("ERR no")), ("!3\r\nBAD\r\n", .error("BAD")),
    (":-12\r\n", .integer(-12)), ("(12\r\n", .integer(12)),
    ("(123456789012345678901234567890\r\n", .string(Array("123456789012345678901234567890".utf8))),
    (",1.5\r\n", .string(Array("1.5".utf8))), ("#t\r\n", .integer(1)), ("#f\r\n", .integer(0)),
    ("$3\r\na\r\n\r\n", .string(Array("a\r\n".utf8))), ("$0\r\n\r\n", .string([])),
    ("=7\r\ntxt:abc\r\n", .string(Array("abc".utf8))),
    ("_\r\n", .null), ("$-1\r\n", .null), ("*-1\r\n", .null), ("*0\r\n", .array([])),
    ("*2\r\n:1\r\n*1\r\n_\r\n", .array([.integer(1), .array([.null])])),
    ("~1\r\n:1\r\n", .array([.integer(1)])),
    ("%1\r\n+a\r\n:1\r\n", .array([.string([0x61]), .integer(1)])),
    (">1\r\n:1\r\n", .push([.integer(1)])),
    ("|1\r\n+a\r\n:1\r\n:7\r\n", .integer(7)),
  ]

  @Test(arguments: forms) func `each form of a value is read`(text: String, value: RESPValue) throws {
    #expect(try replies(text + text) == [value, value], "\(text.debugDescription)")
  }

  @Test func `a reply in pieces is the same as the reply in one`() throws {
    let text = Self.forms.map(\.0).joined()
    let whole = try replies(text)
    for length in [1, 2, 3, 7] {
      var reader = RESPReader()
      var replies: [RESPValue] = []
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        reader.append(Array(rest.prefix(length)))
        rest = rest.dropFirst(length)
        while let reply = try reader.next() { replies.append(reply) }
      }
      #expect(replies == whole, "pieces of \(length)")
    }
  }

  @Test func `replies are read where their bytes are, and what is left over is kept`() throws {
    let text = Array(Self.forms.map(\.0).joined().utf8)
    let whole = try replies(String(decoding: text, as: UTF8.self))
    for length in [1, 2, 7, 40, text.count] {
      var reader = RESPReader()
      var replies: [RESPValue] = []
      for start in stride(from: 0, to: text.count, by: length) {
        let (read, problem) = text[start...].prefix(length).withUnsafeBytes { reader.replies(with: $0) }
        #expect(problem == nil, "pieces of \(length)")
        replies += read
      }
      #expect(replies == whole, "pieces of \(length)")
      #expect(reader.isEmpty, "pieces of \(length)")
    }
    var reader = RESPReader()
    let (read, problem) = Array("+OK\r\nx\r\n".utf8).withUnsafeBytes { reader.replies(with: $0) }
    #expect(read == [.string(Array("OK".utf8))])
    #expect(problem == .malformed)
  }

  @Test(arguments: [
    "x\r\n", "\r\n", ":\r\n", ":1x\r\n", "$-2\r\n", "*-2\r\n", "$1\r\nab\r\n", "+a\rb\r\n", "$x\r\n",
    "*?\r\n",
  ]) func `what is not in the protocol is refused`(text: String) {
    #expect(throws: RESPReader.Problem.malformed) { try replies(text) }
  }

  @Test func `nothing is deeper, longer or more than the limits`() throws {
    let depth = RESPReader.depthLimit
    let nested = { (levels: Int) in String(repeating: "*1\r\n", count: levels) + ":1\r\n" }
    #expect(try replies(nested(depth)).count == 1)
    let refused = [
      nested(depth + 1), "*\(RESPReader.countLimit + 1)\r\n", "%\(RESPReader.countLimit / 2 + 1)\r\n",
      "$\(RESPReader.stringLimit + 1)\r\n", "$\(Int64.max)\r\n", "*\(Int64.max)\r\n",
      "+" + String(repeating: "a", count: 5_000),
      "*2\r\n" + String(repeating: "*1000\r\n" + String(repeating: ":1\r\n", count: 1_000), count: 2),
    ]
    for text in refused { #expect(throws: RESPReader.Problem.tooLarge) { try replies(text) } }
    let longest =
      "$\(RESPReader.stringLimit)\r\n" + String(repeating: "a", count: RESPReader.stringLimit) + "\r\n"
    #expect(try replies(longest).first?.bytes?.count == RESPReader.stringLimit)
    #expect(throws: RESPReader.Problem.tooLarge) {
      try replies("*8\r\n" + String(repeating: longest, count: 5))
    }
  }

  @Test func `no bytes trap`() {
    var generator = SeededGenerator(seed: 7)
    let letters = Array("*$+-:_#,(!=%~>|0123456789\r\nat".utf8)
    for _ in 0..<20_000 {
      var reader = RESPReader()
      let count = Int.random(in: 1...40, using: &generator)
      reader.append((0..<count).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] })
      while let reply = try? reader.next() { _ = reply }
    }
  }

  @Test func `a number in digits is what the standard library reads`() {
    let texts =
      [0, 1, -1, 9, 10, -10, 1_234_567_890, Int64.max, Int64.min].map { "\($0)" } + [
        "", "+", "-", "+7", "-0", "007", "7 ", " 7", "--7", "+-7", "7a", "٧", "9223372036854775808",
        "-9223372036854775809", "92233720368547758070", "99999999999999999999999999",
      ]
    for text in texts {
      var reader = RESPReader()
      reader.append(Array(":\(text)\r\n".utf8))
      let reply = try? reader.next()
      #expect(reply == Int64(text).map { .integer($0) }, "\(text)")
      #expect(RESPValue.string(Array(text.utf8)).number == Int64(text), "\(text)")
    }
  }

  @Test func `a time is seconds and microseconds, and nothing else`() {
    func time(_ parts: RESPValue...) -> Int64? { RESPValue.array(parts).microseconds }
    #expect(time(.string(Array("1700000000".utf8)), .string(Array("7".utf8))) == 1_700_000_000_000_007)
    #expect(time(.integer(1), .integer(999_999)) == 1_999_999)
    #expect(time(.integer(1), .integer(1_000_000)) == nil)
    #expect(time(.integer(1), .integer(-1)) == nil)
    #expect(time(.integer(-1), .integer(0)) == nil)
    #expect(time(.integer(.max), .integer(0)) == nil)
    #expect(time(.integer(1)) == nil)
    #expect(time(.integer(1), .null) == nil)
    #expect(RESPValue.integer(1).microseconds == nil)
  }

  @Test func `a command is an array of strings, in which any byte may stand`() throws {
    var writer = RESPWriter()
    writer.write([[0x41], [], [0x0D, 0x0A, 0x00]])
    #expect(writer.bytes == Array("*3\r\n$1\r\nA\r\n$0\r\n\r\n$3\r\n\r\n\0\r\n".utf8))
    writer.write(["GET", "ü"])
    #expect(writer.bytes.suffix(20) == Array("*2\r\n$3\r\nGET\r\n$2\r\nü\r\n".utf8).suffix(20))
    #expect(writer.count == 2)
  }
}
