import CacheStore

@testable import RedisTier

/// What the fuzzer feeds to what reads the tier, and the properties that have to hold of every input. The fuzzer's binary
/// and the tests that replay its corpus share this file.
enum TierFuzzTarget: String, CaseIterable, Sendable {
  case resp
  case sealedHead = "sealed-head"

  /// A description of the property that the input breaks, or `nil`.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .resp: Self.checkReplies(bytes)
    case .sealedHead: Self.checkHead(bytes)
    }
  }

  private struct Read: Equatable {
    var replies: [RESPValue] = []
    var problem: RESPReader.Problem?
  }

  private static func read(_ bytes: [UInt8], inPiecesOf length: Int) -> Read {
    var reader = RESPReader()
    var read = Read()
    var rest = bytes[...]
    while !rest.isEmpty {
      reader.append(Array(rest.prefix(length)))
      rest = rest.dropFirst(length)
      do throws(RESPReader.Problem) {
        while let reply = try reader.next() { read.replies.append(reply) }
      } catch {
        read.problem = error
        return read
      }
    }
    return read
  }

  /// The same where the bytes are read in their place.
  private static func readInPlace(_ bytes: [UInt8], inPiecesOf length: Int) -> Read {
    var reader = RESPReader()
    var read = Read()
    for start in stride(from: 0, to: bytes.count, by: length) where read.problem == nil {
      let piece = bytes[start...].prefix(length)
      let (replies, problem) = piece.withUnsafeBytes { reader.replies(with: $0) }
      read.replies += replies
      read.problem = problem
    }
    return read
  }

  /// The same replies in whatever pieces they come.
  private static func checkReplies(_ bytes: [UInt8]) -> String? {
    let whole = read(bytes, inPiecesOf: max(1, bytes.count))
    for length in [1, 3] where read(bytes, inPiecesOf: length) != whole {
      return "pieces of \(length) differ"
    }
    for length in [1, 3, max(1, bytes.count)] where readInPlace(bytes, inPiecesOf: length) != whole {
      return "pieces of \(length) differ where they are read in their place"
    }
    for reply in whole.replies where depth(reply) > RESPReader.depthLimit + 1 { return "a reply is too deep" }
    return nil
  }

  private static func depth(_ value: RESPValue) -> Int {
    switch value {
    case .array(let elements), .push(let elements): (elements.map(depth).max() ?? 0) + 1
    default: 1
    }
  }

  /// What is read is written as it was.
  private static func checkHead(_ bytes: [UInt8]) -> String? {
    guard let head = SealedHead(bytes) else { return nil }
    if head.bytes != bytes { return "the head is written otherwise" }
    if !(100...599).contains(head.status) { return "the status is \(head.status)" }
    if head.length < 0 || head.age < 0 { return "a negative number" }
    let fields = HTTPFields(wire: head.wire)
    if fields.all.contains(where: { $0.name.isEmpty || $0.value.utf8.contains(0x0A) }) {
      return "a broken field"
    }
    return nil
  }
}
