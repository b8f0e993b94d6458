import CacheStore
import DataService
import PlatformC
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import RedisTier

@Suite("The fleet's key: names and seals", .inTurn) struct SealTests {
  private func key(_ byte: UInt8) -> FleetKey { FleetKey(bytes: [UInt8](repeating: byte, count: 32)) }

  @Test func `a key file is read in a program without standard input too`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let path = try folder.write("secret\n", to: "key")
      chmod(path, 0o600)
      close(0)
      try #require(try SecretFile.line(of: path) == "secret")
      // Not whether descriptor 0 is free: a thread of the system's may have taken it meanwhile.
      try #require(openFiles(below: folder.path).isEmpty, "it is closed again")
    }
  }

  @Test func `a value opens at its place with its key, and nowhere else`() {
    let seal = Seal(key(1))
    let place = Seal.Place(key: "cf1:{a}", field: "f", ticket: 7, number: 3)
    for value in [[], [1], [UInt8](repeating: 9, count: 70_000)] as [[UInt8]] {
      let sealed = seal.sealed(value, at: place)
      #expect(sealed.count == value.count + Seal.overhead, "\(value.count) bytes")
      #expect(seal.opened(sealed, at: place) == value, "\(value.count) bytes")
      #expect(seal.sealed(value, at: place) != sealed, "each has a nonce of its own")
      #expect(Seal(key(2)).opened(sealed, at: place) == nil, "\(value.count) bytes")
      for change in 0..<4 {
        var other = place
        switch change {
        case 0: other.key = "cf1:{b}"
        case 1: other.field = "g"
        case 2: other.ticket = 8
        default: other.number = 4
        }
        #expect(seal.opened(sealed, at: other) == nil, "\(value.count) bytes")
      }
      for index in [0, 23, 24, sealed.count - 1] {
        var changed = sealed
        changed[index] ^= 1
        #expect(seal.opened(changed, at: place) == nil, "\(value.count) bytes, \(index)")
      }
      for count in [0, 1, Seal.overhead - 1, sealed.count - 1] where count < sealed.count {
        #expect(seal.opened(Array(sealed[..<count]), at: place) == nil, "\(value.count) bytes, \(count)")
      }
    }
  }

  @Test func `names depend on the key, the account and the target, and are short words`() {
    let names = TierNames(key(1))
    var all = Set<String>()
    for question in [
      TierQuestion(target: "https://a.test/"), TierQuestion(target: "https://a.test/x"),
      TierQuestion(account: "ci", target: "https://a.test/"),
      TierQuestion(account: "c", target: "ihttps://a.test/"),
    ] {
      all.insert(names.target(of: question).row)
      all.insert(TierNames(key(2)).target(of: question).row)
      let row = names.target(of: question).row
      #expect(row.hasPrefix("cf1:{") && row.hasSuffix("}") && row.utf8.count == 28, "\(question.target)")
      #expect(
        row.dropFirst(5).dropLast().utf8.allSatisfy { $0 != 0x2F && $0 != 0x2B && $0 != 0x3D },
        "\(question.target)")
    }
    #expect(all.count == 8)
  }

  @Test func `a variant is method, extra, body and the fields that Vary names and the request has`() {
    let names = TierNames(key(1))
    let plain = TierQuestion(target: "t", fields: ["Accept-Language": "de", "X": "1"])
    #expect(names.variant(of: plain, vary: "") == names.variant(of: plain, vary: "accept"))
    var all: Set<String> = [names.variant(of: plain, vary: "")]
    all.insert(names.variant(of: plain, vary: "accept-language"))
    var other = plain
    other.fields = ["Accept-Language": "en"]
    all.insert(names.variant(of: other, vary: "accept-language"))
    other = plain
    other.method = "QUERY"
    all.insert(names.variant(of: other, vary: ""))
    other.body = Data("q".utf8)
    all.insert(names.variant(of: other, vary: ""))
    other.extra = "m"
    all.insert(names.variant(of: other, vary: ""))
    #expect(all.count == 6)
    #expect(names.variant(of: plain, vary: "").utf8.count == 11)
  }

  @Test func `a key file has one key a line, of which the first seals`() throws {
    let (first, second) = (FleetKey.generate(), FleetKey.generate())
    let keys = try FleetKey.keys(in: "# old and new\n\n  \(first)  \n\(second)\n")
    #expect(keys.map { Data($0.bytes).base64EncodedString() } == [first, second])
    #expect(first != second)
    for (text, words) in [
      ("", "it has no key"), ("# only this\n", "it has no key"),
      ("\(first)\nAAAA\n", "line 2 is not base64 of 32 bytes"), ("!\n", "line 1 is not base64 of 32 bytes"),
      (String(repeating: "\(first)\n", count: 5), "it has more than 4 keys"),
    ] {
      #expect(throws: SecretFile.Problem(words), "\(text)") { try FleetKey.keys(in: text) }
    }
  }

  @Test func `a secret that others may read is refused`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("  word \nmore\n", to: "secret")
    for mode in [0o644, 0o640, 0o604, 0o622] as [mode_t] {
      chmod(path, mode)
      #expect(throws: SecretFile.Problem("others may read it", remedy: "give it mode 600"), "\(mode)") {
        try SecretFile.line(of: path)
      }
    }
    for mode in [0o600, 0o400] as [mode_t] {
      chmod(path, mode)
      #expect(try SecretFile.line(of: path) == "word", "\(mode)")
    }
    #expect(throws: SecretFile.Problem.self) { try SecretFile.text(of: folder.path) }
    #expect(throws: SecretFile.Problem.self) { try SecretFile.text(of: folder.file("none")) }
    chmod(try folder.write(" \n", to: "empty"), 0o600)
    #expect(throws: SecretFile.Problem("it is empty")) { try SecretFile.line(of: folder.file("empty")) }
    chmod(try folder.write("", to: "nothing"), 0o600)
    #expect(throws: SecretFile.Problem("it is empty")) { try SecretFile.line(of: folder.file("nothing")) }
    chmod(try folder.write([UInt8](repeating: 0x41, count: 4_097), to: "long"), 0o600)
    #expect(throws: SecretFile.Problem("it is longer than 4096 bytes")) {
      try SecretFile.line(of: folder.file("long"))
    }
  }
}
