import CacheStore
import DataService
import PlatformFoundation

/// Instants and rows for the rule tests; everything counts from one noon.
enum Rule {
  /// Sun, 06 Nov 1994 08:49:37 GMT.
  static let noon: Int64 = 784_111_777_000

  /// The date that many seconds after ``noon``, as a field value.
  static func date(_ seconds: Int64 = 0) -> String { HTTPDate.format(noon + seconds * 1000) }

  /// A protection for requests without secrets.
  static func plain(_ name: String, _ value: String) -> String { value }

  /// A row received at ``noon`` from an exchange that took no time.
  static func row(
    id: Int64 = 1, status: Int = 200, _ fields: HTTPFields = [:], vary: String = "", variant: String = "",
    receivedAt: Int64 = noon, isGood: Bool = true, isInvalid: Bool = false, body: String = "body"
  ) -> StoredResponse {
    let bytes = Data(body.utf8)
    let head = ReceivedHead(
      status: status, fields: fields, started: StartMark(boot: "boot", nanoseconds: id),
      receivedAt: receivedAt)
    return StoredResponse(
      id: id, accountID: 1, isGood: isGood, variant: variant, vary: vary, head: head, isInvalid: isInvalid,
      body: .init(id: id, length: Int64(bytes.count), firstChunk: bytes))
  }
}
