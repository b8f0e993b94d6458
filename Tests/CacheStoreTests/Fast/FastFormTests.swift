import CTestSupport
import CXXHash
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

/// Each form of `Fast/` says what its plain twin says, on many inputs.
@Suite("Fast forms and plain ones: the store", .inTurn) struct FastFormTests {
  private var random = SeededGenerator(seed: 1)

  private mutating func bytes(upTo most: Int) -> [UInt8] {
    (0..<Int.random(in: 0...most, using: &random)).map { _ in .random(in: .min ... .max, using: &random) }
  }

  private mutating func name() -> String {
    let letters = Array("aAbB-")
    var name = ""
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      name.append(letters[Int.random(in: 0..<5, using: &random)])
    }
    return name
  }

  @Test mutating func `bytes are laid out alike`() {
    var fast = ByteLayout(capacity: 16)
    var plain = PlainByteLayout()
    for step in 0..<5000 {
      switch Int.random(in: 0...8, using: &random) {
      case 0:
        fast.removeAll()
        plain.removeAll()
      case 1...3:
        let number = Int64.random(in: .min ... .max, using: &random)
        fast.add(number)
        plain.add(number)
      case 4...6:
        let more = bytes(upTo: 60)
        more.withUnsafeBytes { fast.add($0) }
        more.withUnsafeBytes { plain.add($0) }
      default:
        let text = String(decoding: bytes(upTo: 40), as: UTF8.self)
        fast.add(text)
        plain.add(text)
      }
      #expect(Array(fast.bytes) == plain.bytes, "step \(step)")
    }
  }

  @Test mutating func `tables by place hold alike`() {
    var fast = PlaceTable<Int>(count: 20)
    var plain = PlainPlaceTable<Int>()
    for step in 0..<5000 {
      let place = Int.random(in: 0..<20, using: &random)
      #expect(fast[place] == plain[place], "step \(step)")
      let value = Bool.random(using: &random) ? step : nil
      fast[place] = value
      plain[place] = value
      #expect(fast.all == plain.all, "step \(step)")
    }
  }

  @Test mutating func `hashes are alike, whatever the length`() {
    let lengths =
      Array(0...300) + Array(1000...1300) + (0..<300).map { _ in Int.random(in: 0...70_000, using: &random) }
    let long = (0..<70_000 + 64).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    for length in lengths {
      let start = Int.random(in: 0..<64, using: &random)
      let seed = random.next()
      long[start..<start + length].withUnsafeBytes { bytes in
        #expect(
          cachefetch_xxh3(bytes.baseAddress, bytes.count, seed)
            == cachefetch_xxh3_plain(bytes.baseAddress, bytes.count, seed), "\(length) bytes")
      }
    }
  }

  @Test mutating func `lists are written alike`() {
    for _ in 0..<300 {
      var fast = CommaList()
      var plain = PlainCommaList()
      for _ in 0..<Int.random(in: 0...8, using: &random) {
        let item = "c" + String(decoding: bytes(upTo: 5), as: UTF8.self)
        fast.add(item)
        plain.add(item)
      }
      #expect(fast.text == plain.text)
    }
  }

  @Test mutating func `names of fields are compared alike`() {
    let letters = Array("aAbB-é[{@`".utf8)
    for _ in 0..<20_000 {
      let pair = (0..<2).map { _ in
        (0..<Int.random(in: 0...4, using: &random)).map { _ in
          letters[Int.random(in: letters.indices, using: &random)]
        }
      }
      pair[0].withUnsafeBufferPointer { one in
        pair[1].withUnsafeBufferPointer { other in
          #expect(one.equalsIgnoringCase(other) == one.equalsInLowerCase(other), "\(pair)")
          for wanted: StaticString in ["a", "ab", "b-"] {
            #expect(one.containsIgnoringCase(wanted) == one.containsInLowerCase(wanted), "\(pair), \(wanted)")
          }
        }
      }
    }
  }

  @Test mutating func `bytes are found and compared alike`() {
    for _ in 0..<2_000 {
      let one = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        UInt8.random(in: 0...3, using: &random)
      }
      var other = one
      if !other.isEmpty, Bool.random(using: &random) {
        other[Int.random(in: other.indices, using: &random)] ^= UInt8.random(in: 0...1, using: &random)
      }
      if Bool.random(using: &random) { other.removeLast(min(other.count, 1)) }
      one.withUnsafeBufferPointer { bytes in
        for byte in UInt8(0)...4 { #expect(bytes.offset(of: byte) == bytes.plainOffset(of: byte), "\(one)") }
      }
      one.withUnsafeBytes { one in
        other.withUnsafeBytes { other in
          #expect(one.isSame(as: other) == one.isPlainlySame(as: other), "\(Array(one)), \(Array(other))")
        }
      }
    }
  }

  @Test mutating func `sets of names have alike in them`() {
    for _ in 0..<300 {
      var names: [String] = []
      for _ in 0..<Int.random(in: 0...6, using: &random) { names.append(name() + "a") }
      let fast = FieldNames(names)
      let plain = PlainFieldNames(names)
      for _ in 0..<30 {
        let asked = Bool.random(using: &random) ? name() : name() + "A"
        #expect(fast.contains(asked) == plain.contains(asked), "\(asked) in \(names)")
      }
    }
  }

  @Test mutating func `texts stay as they were until the room is freed, and are refused where there is none`()
  {
    let space = TextSpace()
    defer { space.deallocate() }
    var kept: [(place: UnsafePointer<CChar>, text: [CChar])] = []
    var refused = 0
    for _ in 0..<2000 {
      let text = bytes(upTo: 120).map { CChar(bitPattern: $0) } + [7]
      if let place = text.withUnsafeBufferPointer({ space.copy($0) }) {
        kept.append((place, text))
      } else {
        refused += 1
        space.removeAll()
        kept = []
      }
      for (place, text) in kept {
        #expect(Array(UnsafeBufferPointer(start: place, count: text.count)) == text)
      }
    }
    #expect(refused > 20 && refused < 1000)
  }

  @Test func `the room for texts is 512 bytes, to the last of them, each time it is freed`() {
    let space = TextSpace()
    defer { space.deallocate() }
    let half = [CChar](repeating: 7, count: 256)
    let one = [CChar](repeating: 7, count: 1)
    for round in 1...2 {
      for _ in 0..<2 { #expect(half.withUnsafeBufferPointer({ space.copy($0) }) != nil, "round \(round)") }
      #expect(one.withUnsafeBufferPointer({ space.copy($0) }) == nil, "round \(round)")
      space.removeAll()
    }
  }

  @Test func `the room for texts is empty to begin with, whatever its memory held before`() {
    // Of the same size, so that the allocator gives one of them again.
    let count = 1 + 512 / MemoryLayout<Int>.size
    let former = (0..<2).map { _ in UnsafeMutablePointer<Int>.allocate(capacity: count) }
    for place in former { place.initialize(repeating: 700, count: count) }
    for place in former { place.deallocate() }
    let space = TextSpace()
    defer { space.deallocate() }
    let all = [CChar](repeating: 7, count: 512)
    #expect(all.withUnsafeBufferPointer({ space.copy($0) }) != nil)
  }

  @Test func `the processor's vectors are known as the compiler asks for them`() {
    #expect(cachefetch_has_avx2() == testsupport_has_avx2())
  }
}

/// The plain form of ``ByteLayout``.
struct PlainByteLayout {
  /// The bytes so far.
  private(set) var bytes: [UInt8] = []

  mutating func removeAll() { bytes = [] }

  mutating func add(_ value: Int64) { withUnsafeBytes(of: value.littleEndian) { bytes += $0 } }

  /// Adds the number of bytes, then the bytes.
  mutating func add(_ more: UnsafeRawBufferPointer) {
    add(Int64(more.count))
    bytes += more
  }

  /// Adds the number of the text's UTF-8 bytes, then the bytes.
  mutating func add(_ text: String) {
    add(Int64(text.utf8.count))
    bytes += text.utf8
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// The plain form of ``offset(of:)``.
  func plainOffset(of byte: UInt8) -> Int? { firstIndex(of: byte) }

  /// The plain form of ``equalsIgnoringCase(_:)``: converts both to lower case first.
  func equalsInLowerCase(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    map(\.asciiLowercased) == other.map(\.asciiLowercased)
  }

  /// The plain form of ``containsIgnoringCase(_:)``.
  func containsInLowerCase(_ letters: StaticString) -> Bool {
    let wanted = letters.withUTF8Buffer { Array($0) }
    let bytes = map(\.asciiLowercased)
    return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
  }
}

extension UnsafeRawBufferPointer {
  /// The plain form of ``isSame(as:)``.
  func isPlainlySame(as other: UnsafeRawBufferPointer) -> Bool { elementsEqual(other) }
}

/// The plain form of ``FieldNames``.
struct PlainFieldNames {
  private let names: Set<[UInt8]>

  init(_ names: some Sequence<String>) { self.names = Set(names.map { $0.utf8.map(\.asciiLowercased) }) }

  func contains(_ name: String) -> Bool { names.contains(name.utf8.map(\.asciiLowercased)) }
}

/// The plain form of ``CommaList``.
struct PlainCommaList {
  private var items: [String] = []

  var text: String { items.joined(separator: ", ") }

  mutating func add(_ item: String) { items.append(item) }
}

/// The plain form of ``PlaceTable``.
struct PlainPlaceTable<Value> {
  private var values: [Int: Value] = [:]

  subscript(place: Int) -> Value? {
    get { values[place] }
    set { values[place] = newValue }
  }

  /// The values, by key.
  var all: [Value] { values.sorted { $0.key < $1.key }.map(\.value) }
}
