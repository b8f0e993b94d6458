import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: the order of a background process", .inTurn) struct BackgroundOrderTests {
  @Test func `what is written is read`() {
    for order in [
      BackgroundOrder(), BackgroundOrder(words: ["get", "", "ü"]),
      BackgroundOrder(
        words: ["get"], files: ["-": [], "b": [0, 255], "a": [UInt8](repeating: 7, count: 300)]),
    ] {
      #expect(BackgroundOrder(order.bytes) == order, "\(order)")
    }
  }

  @Test func `a tier of the command line is the refresh's too`() throws {
    let url = "redis://h/0?key-file=/k"
    let named = try ArgumentParser.parse(["--background", "--tier", url, "http://a/"])
    #expect(Background.words(named).contains("--tier=" + url))
    #expect(
      Background.words(try ArgumentParser.parse(["--background", "--no-tier", "http://a/"])).contains(
        "--no-tier"))
  }

  @Test func `its bytes are the same each time`() {
    let order = BackgroundOrder(words: ["g"], files: ["b": [1], "a": []])
    func number(_ number: UInt8) -> [UInt8] { [number, 0, 0, 0, 0, 0, 0, 0] }
    #expect(
      order.bytes == number(1) + number(1) + [0x67] + number(1) + [0x61] + number(0) + number(1) + [0x62]
        + number(1) + [1])
  }

  @Test func `cut off anywhere it is none`() {
    let bytes = BackgroundOrder(words: ["get"], files: ["a": [1, 2]]).bytes
    // Where the words end, it is an order without files.
    let whole = [bytes.count, 8 + 8 + 3]
    for count in 0...bytes.count {
      #expect((BackgroundOrder(Array(bytes.prefix(count))) != nil) == whole.contains(count), "\(count)")
    }
    #expect(BackgroundOrder([UInt8](repeating: 0xFF, count: 16)) == nil)
  }
}
