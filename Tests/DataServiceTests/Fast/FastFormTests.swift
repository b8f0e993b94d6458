import CacheStore
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// Each form of `Fast/` says what its plain twin says, on many inputs.
@Suite("Fast forms and plain ones: the service", .inTurn) struct FastFormTests {
  private var random = SeededGenerator(seed: 1)

  private final class Thing: Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
  }

  @Test mutating func `objects are added and removed alike`() {
    let things = (0..<12).map(Thing.init)
    var fast = IdentityList<Thing> { ObjectIdentifier($0) }
    var plain = PlainIdentityList<Thing> { ObjectIdentifier($0) }
    var inside: Set<Int> = []
    for step in 0..<5000 {
      let thing = things[Int.random(in: things.indices, using: &random)]
      if Bool.random(using: &random), inside.insert(thing.number).inserted {
        fast.add(thing)
        plain.add(thing)
      } else {
        inside.remove(thing.number)
        fast.remove(thing)
        plain.remove(thing)
      }
      #expect(fast.all.map(\.number).sorted() == plain.all.map(\.number).sorted(), "step \(step)")
      #expect(fast.isEmpty == plain.isEmpty, "step \(step)")
    }
  }

  @Test mutating func `a lease's text is that of the options, whichever came before`() {
    var memory = LeaseTextMemory()
    for _ in 0..<2000 {
      var limits = Limits()
      var connection = ConnectionOptions()
      if Bool.random(using: &random) { limits.retries = Int.random(in: 0...2, using: &random) }
      if Bool.random(using: &random) { connection.isInsecure = true }
      if Bool.random(using: &random) { connection.proxy = "http://p\(Int.random(in: 0...2, using: &random))" }
      #expect(memory.text(of: limits, connection) == LeaseTextMemory.made(of: limits, connection))
    }
  }

  @Test func `a box has in it what was put there`() {
    for number in 0..<100 { #expect(Box("\(number)").value == PlainBox("\(number)").value) }
  }

  @Test mutating func `names are known alike`() {
    let names = (0..<30).map { "name\($0)" }
    let usual = Array(names[..<10])
    var fast = NameSet()
    var plain = PlainNameSet(usual: usual)
    for step in 0..<2000 {
      switch Int.random(in: 0...3, using: &random) {
      case 0:
        let one = names[Int.random(in: names.indices, using: &random)]
        plain.names.insert(one)
        fast.set(fast.names(usual: usual).union([one]), usual: usual)
      case 1:
        let one = names[Int.random(in: names.indices, using: &random)]
        plain.names.remove(one)
        fast.set(fast.names(usual: usual).subtracting([one]), usual: usual)
      case 2:
        fast.set(Set(usual), usual: usual)
        plain.names = Set(usual)
      default: break
      }
      #expect(fast.names(usual: usual) == plain.names, "step \(step)")
      for name in names {
        #expect(fast.contains(name, usual: usual) == plain.contains(name), "step \(step), \(name)")
      }
      // Two that hold the same are equal, however they came to it.
      #expect((fast == NameSet()) == (plain == PlainNameSet(usual: usual)), "step \(step)")
    }
  }

  @Test mutating func `URLs are taken apart alike`() throws {
    let schemes = ["http", "https", "HTTP", "ftp", "httpx", ""]
    let hosts = [
      "h", "h.example", "H.example", "127.0.0.1", "[::1]", "a-b.c", "h_h", "u@h", "u:p@h", "mün.de", "",
    ]
    let ports = ["", ":", ":80", ":443", ":8080", ":080", ":65535", ":65536", ":0", ":x"]
    let pieces = [
      "/", "a", ".", "..", "%7e", "%2F", "é", "?", "#", "=", "&", "/./", "/../", "~", " ", "b.c", "//",
    ]
    var normal = 0
    for _ in 0..<8_000 {
      func one(_ of: [String]) -> String { of[Int.random(in: of.indices, using: &random)] }
      // Mostly of the plain kind, so that enough of them are normal.
      let isPlain = Int.random(in: 0...3, using: &random) > 0
      var text = (isPlain ? one(["http", "https"]) : one(schemes)) + "://"
      text += (isPlain ? hosts[Int.random(in: 0..<2, using: &random)] : one(hosts)) + one(ports)
      if Int.random(in: 0...9, using: &random) > 0 { text += "/" }
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        text += isPlain ? one(["a", "/", "b.c", "?", "=", "~"]) : one(pieces)
      }
      var copy = text
      if copy.withUTF8({ NormalParts($0) }) != nil { normal += 1 }
      let fast = Result { () throws(DataServiceError) in try NormalisedURL(text) }
      let plain = Result { () throws(DataServiceError) in try NormalisedURL(takingApart: text) }
      switch (fast, plain) {
      case (.success(let fast), .success(let plain)): #expect(fast == plain, "\(text)")
      case (.failure(let fast), .failure(let plain)): #expect(fast.message == plain.message, "\(text)")
      default: Issue.record("\(text): \(fast) and \(plain)")
      }
    }
    #expect(normal > 400 && normal < 7_600)
  }
}

/// The plain form of ``Box``.
struct PlainBox<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

/// The plain form of ``IdentityList``.
struct PlainIdentityList<Element> {
  private let identity: @Sendable (Element) -> ObjectIdentifier
  private var elements: [ObjectIdentifier: Element] = [:]

  init(by identity: @escaping @Sendable (Element) -> ObjectIdentifier) { self.identity = identity }

  var isEmpty: Bool { elements.isEmpty }

  /// In no order.
  var all: [Element] { Array(elements.values) }

  mutating func add(_ element: Element) { elements[identity(element)] = element }

  mutating func remove(_ element: Element) { elements[identity(element)] = nil }
}

/// The plain form of ``NameSet``.
struct PlainNameSet: Sendable, Hashable {
  var names: Set<String>

  init(usual: [String]) { names = Set(usual) }

  func contains(_ name: String) -> Bool { names.contains(name) }
}
