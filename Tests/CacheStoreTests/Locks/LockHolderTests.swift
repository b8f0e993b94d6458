import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Who is in the way of a store", .inTurn) struct LockHolderTests {
  @Test func `where nobody has a lock it is whoever has one of the files open`() async throws {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: try folder.write("x", to: "store.sqlite"))
    let holder = try ChildProcess(
      "/bin/sh", ["-c", "exec 3<\"$0\"; echo open; read line", files.database], input: nil)
    #expect(await holder.output.waits(for: "open\n"))
    // A process that another test is just starting may have a copy of what this one has open.
    let found = LockHolders.processes(on: files)
    #expect(found.contains { $0.id == holder.pid && $0.name == "sh" }, "\(found)")
    #expect(LockHolders.description(on: files).contains("process \(holder.pid) (sh)"))
    holder.closeInput()
    _ = await holder.exit()
  }

  @Test func `the process that asks is not in its own way, be it by a lock or by an open file`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    let files = StoreFiles(path: fixture.path)
    let writer = try RawDatabase(fixture.path)
    try writer.execute("BEGIN IMMEDIATE")
    #expect(LockHolders.processes(on: files).allSatisfy { $0.id != getpid() })
    try writer.execute("ROLLBACK")
  }
}
