import Glibc

/// The times of a run, kept in memory until its end so that printing disturbs nothing.
struct Times {
  private var nanoseconds: [UInt64] = []

  init(capacity: Int) { nanoseconds.reserveCapacity(capacity) }

  static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  mutating func add(since start: UInt64) { nanoseconds.append(Self.now - start) }

  mutating func add(from start: UInt64, to end: UInt64) { nanoseconds.append(end - start) }

  func print() {
    // Few instructions for each, since callgrind counts these too.
    var text: [UInt8] = []
    for value in nanoseconds {
      text.append(contentsOf: String(value).utf8)
      text.append(0x0A)
    }
    Swift.print(String(decoding: text, as: UTF8.self), terminator: "")
  }
}

/// Ends the run: a benchmark that measured something else than it says is worse than none.
func fail(_ what: String) -> Never {
  var text = what + "\n"
  text.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
  exit(1)
}
