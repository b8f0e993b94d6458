import CacheStore
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("The digest key", .inTurn) struct DigestKeyTests {
  @Test func `it is made once, kept, and every process has the same`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("new/store.sqlite")
    #expect(try DigestKey.load(nextTo: path) == nil)
    let digests = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<16 {
        group.addTask { try DigestKey.loadOrCreate(nextTo: path).digest(Array("secret".utf8)) }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(digests.count == 1)
    #expect(try folder.names() == ["new"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("new")) == ["store.sqlite.key"])
  }

  @Test func `a digest is 32 lower-case hexadecimal digits and depends on the key`() throws {
    let key = DigestKey(bytes: Array(repeating: 7, count: 32))
    let digest = key.digest(Array("Bearer x".utf8))
    #expect(digest.count == 32 && digest.allSatisfy { $0.isHexDigit && !$0.isUppercase })
    #expect(key.digest(Array("Bearer x".utf8)) == digest)
    #expect(key.digest([]) != digest)
    #expect(DigestKey(bytes: Array(repeating: 8, count: 32)).digest(Array("Bearer x".utf8)) != digest)
    #expect(DigestKey().digest([]) != DigestKey().digest([]))
  }

  @Test func `a lost key is made anew, a damaged one is named`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("store.sqlite")
    let first = try DigestKey.loadOrCreate(nextTo: path).digest([1])
    unlink(path + ".key")
    #expect(try DigestKey.loadOrCreate(nextTo: path).digest([1]) != first)
    try folder.write("short", to: "store.sqlite.key")
    #expect { try DigestKey.loadOrCreate(nextTo: path) } throws: {
      ($0 as? CacheStoreError)?.message.contains(path + ".key") == true
    }
  }

  @Test func `a key file has 32 bytes, no more and no fewer`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("store.sqlite")
    for count in [0, 31, 33, 64] {
      try folder.write([UInt8](repeating: 7, count: count), to: "store.sqlite.key")
      #expect("\(count) bytes") {
        try DigestKey.load(nextTo: path)
      } throws: {
        ($0 as? CacheStoreError)?.message.hasSuffix("is damaged") == true
      }
    }
    try folder.write([UInt8](repeating: 7, count: 32), to: "store.sqlite.key")
    let key = DigestKey(bytes: Array(repeating: 7, count: 32))
    #expect(try DigestKey.load(nextTo: path)?.digest([1]) == key.digest([1]))
  }

  @Test func `where no folder can be there is no key, and a link in the place of one is an error`() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("a file", to: "file")
    #expect(try DigestKey.load(nextTo: file + "/store.sqlite") == nil)
    #expect {
      try DigestKey.loadOrCreate(nextTo: file + "/sub/store.sqlite")
    } throws: {
      ($0 as? CacheStoreError)?.message.hasPrefix("cannot make the folder \(file)/sub for the store") == true
    }
    #expect(symlink(file, folder.file("store.sqlite.key")) == 0)
    #expect {
      try DigestKey.load(nextTo: folder.file("store.sqlite"))
    } throws: {
      ($0 as? CacheStoreError)?.message.hasPrefix("cannot read the digest key") == true
    }
  }

  /// The accounts of a store that another release made have such names.
  @Test func `a digest is that of every release: BLAKE2b under the key, of sixteen bytes`() {
    let key = DigestKey(bytes: Array(repeating: 7, count: 32))
    #expect(key.digest(Array("Bearer x".utf8)) == "4cccbf7d04dbef7767de3fe25411d04f")
    #expect(key.digest([]) == "f60b6ec68e47431ff37ebfaeb581e778")
    #expect(DigestKey.digits == 32)
  }
}
