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
}
