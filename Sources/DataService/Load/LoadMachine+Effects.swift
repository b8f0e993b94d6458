extension LoadMachine {
  /// What to do, in this order: at most sixteen things, in one number. An array for each event would take longer than the
  /// decision.
  struct Effects: Sequence, Equatable, Sendable, ExpressibleByArrayLiteral {
    /// Four bits each, the first one lowest; 0 where there is no more.
    private var codes: UInt64 = 0

    init(arrayLiteral effects: Effect...) {
      for effect in effects { append(effect) }
    }

    var isEmpty: Bool { codes == 0 }

    private var bits: Int { (UInt64.bitWidth - codes.leadingZeroBitCount + 3) & ~3 }

    mutating func append(_ effect: Effect) { codes |= effect.rawValue << bits }

    mutating func insertFirst(_ effect: Effect) { codes = codes << 4 | effect.rawValue }

    static func + (first: Effects, second: Effects) -> Effects {
      var both = first
      both.codes |= second.codes << first.bits
      return both
    }

    /// Takes the effects one after the other.
    struct Iterator: IteratorProtocol {
      fileprivate var codes: UInt64

      mutating func next() -> Effect? {
        defer { codes >>= 4 }
        return Effect(rawValue: codes & 15)
      }
    }

    func makeIterator() -> Iterator { Iterator(codes: codes) }
  }
}
