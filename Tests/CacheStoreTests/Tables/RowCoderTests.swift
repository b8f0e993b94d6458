import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("The columns of a row", .inTurn) struct RowCoderTests {
  @Test func `the list names the columns of the table, in the table's order`() async throws {
    let store = try TemporaryStore()
    let made = ResponseStore(configuration: .unhurried(path: store.path))
    try await made.writer.perform { _ in }
    await made.close()
    let names = try store.rows("SELECT name FROM pragma_table_info('last_request') ORDER BY cid")
    #expect(ColumnList.all.map { [.text($0.name)] } == names)
  }

  @Test func `all but the identifier, the checksum itself and the pin is in the checksum`() {
    let outside = ColumnList.all.filter { !$0.isInChecksum }
    #expect(outside.map(\.name) == ["id", "checksum", "pinned"])
  }

  @Test func `whatever a value may be is written and read`() async throws {
    let store = try TemporaryStore()
    let made = ResponseStore(configuration: .unhurried(path: store.path))
    let account = try await made.accountID(named: "")
    let key = RequestKey(target: "t")
    var write = ResponseStore.Write(
      accountID: account, key: key, started: StartMark(boot: "b", nanoseconds: 1), status: 999, fields: [:],
      receivedAt: 3, body: .bytes(Data()))
    for url in [nil, "", "https://example.org/"] {
      write.head.url = url
      write.head.started.nanoseconds += 1
      _ = try await made.overwrite(write)
      let row = try #require(try made.lookupNow(key).rows.first)
      #expect(
        row.responseURL == url && row.status == 999 && row.fields == [:] && row.reason.isEmpty, "\(url)")
    }
    await made.close()
  }
}

/// The columns, in their order.
private struct ColumnList: ColumnVisitor {
  private var list: [Column] = []

  mutating func visit<Value: ColumnValue>(_ column: Column, _ value: inout Value) { list.append(column) }

  static let all: [Column] = {
    var found = RowCoder.Found()
    var checksum: Int64 = 0
    var columns = ColumnList()
    RowCoder.visit(&found.row, &found.key, &checksum, with: &columns)
    return columns.list
  }()
}
