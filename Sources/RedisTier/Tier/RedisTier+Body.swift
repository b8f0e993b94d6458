internal import CacheStore
package import DataService
package import PlatformFoundation

extension RedisTier {
  /// How many pieces of a body are under way at once.
  static let window = 4
  /// How many times the patience a whole body may take, however many pieces it has. With the defaults that is
  /// 760 ms, in which the longest body that is shared comes at 100 Mbit/s.
  private static let patiences = 8

  nonisolated(nonsending) package func body(of row: TierRow, for question: TierQuestion) async -> Data? {
    if let body = row.body { return body }
    guard row.length > 0, row.length <= terms.largestBody, let (link, host) = try? admit() else { return nil }
    // The origin is not asked before this is over.
    let deadline = host.timekeeper.bootNanoseconds + (address.patience * Self.patiences).clampedNanoseconds
    for key in keysKnown(for: question, link) where !Task.isCancelled {
      let (target, mark) = (key.names.target(of: question), key.names.mark(of: row.checksum))
      if let body = try? await assembled(row, target, mark, key.seal, until: deadline, link, host) {
        return SealedHead.checksum(of: body) == row.checksum ? body : nil
      }
    }
    return nil
  }

  /// The pieces together; `nil` where one is gone or does not open, or they have not all come by the deadline.
  nonisolated(nonsending) private func assembled(
    _ row: TierRow, _ target: TierNames.Target, _ mark: String, _ seal: Seal, until deadline: Int64,
    _ link: Link, _ host: TierHost
  ) async throws(Silent) -> Data? {
    let count = Int((row.length - 1) / Int64(SealedHead.chunkLength)) + 1
    var body = Data(capacity: Int(row.length))
    var calls: [(RedisConnection.Call, Int64)] = []
    var next = 0
    for number in 0..<count {
      // Each piece may come in its time, and all of them together too late.
      guard host.timekeeper.bootNanoseconds < deadline else { return nil }
      // The first alone: where it is gone, so are the others.
      let end = min(number + (number == 0 ? 1 : Self.window), count)
      while next < end {
        calls.append(begin(next))
        next += 1
      }
      let (call, sent) = calls.removeFirst()
      let reply = try await replies(to: call, over: link.pieceConnection, sent: sent, limit, host).first
      guard let value = reply?.bytes else { return nil }
      let piece = seal.opened(value, at: .chunk(number, of: row.ticket, mark: mark, target))
      self.count(opened: piece != nil, host)
      guard let piece, !piece.isEmpty, body.count + piece.count <= row.length else { return nil }
      body.append(contentsOf: piece)
    }
    return body.count == row.length ? body : nil

    func begin(_ number: Int) -> (RedisConnection.Call, Int64) {
      var command = RESPWriter()
      command.write(["GET", target.chunk(number, of: row.ticket, mark: mark)])
      let sent = host.timekeeper.bootNanoseconds
      let rest = Duration.nanoseconds(max(1, deadline - sent))
      return (link.pieceConnection.begin(command, within: min(limit, rest)), sent)
    }
  }

  /// For a piece of a body, which has others before it on the same connection.
  var limit: Duration { address.patience * Self.window }
}
