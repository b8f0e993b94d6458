internal import CacheStore
package import DataService
internal import PlatformFoundation

// An origin's `Retry-After`, which the whole fleet obeys: until when it lasts, by the tier's clock.
extension RedisTier {
  nonisolated(nonsending) package func pause(_ milliseconds: Int64, _ question: TierQuestion) async {
    guard !terms.isReadOnly, milliseconds > 0, !question.responder.isEmpty else { return }
    do throws(Silent) {
      let (link, host) = try admit()
      guard let key = keysKnown(for: question, link).first, let time = tierTime(host) else { return }
      let length = min(milliseconds, Pause.longestMilliseconds)
      let name = key.names.pause(of: question)
      let until = key.seal.sealed(Array("\(time + length * 1_000)".utf8), at: .pause(name))
      let command = [Array("SET".utf8), Array(name.utf8), until, Array("PX".utf8), Array("\(length)".utf8)]
      let reply = try await call(RESPWriter([command]), over: link, host).first ?? .null
      if let text = reply.failure { warn(Self.shortened(text), remedy: Self.remedy(for: text)) }
    } catch {
      host?.trace("the fleet was not told of the pause: \(error.reason)")
    }
  }

  /// What is left of a pause at an instant of the tier's clock, in milliseconds; `nil` where there is none.
  func remaining(
    _ reply: RESPValue, named name: String, _ key: TierKeys.Key, at time: Int64, _ host: TierHost
  ) -> Int64? {
    guard let sealed = reply.bytes else { return nil }
    let until = key.seal.opened(sealed, at: .pause(name)).flatMap {
      Int64(String(decoding: $0, as: UTF8.self))
    }
    count(opened: until != nil, host)
    guard let until, until > time else { return nil }
    return (until - time + 999) / 1_000
  }
}

extension Seal.Place {
  /// The place of a pause.
  fileprivate static func pause(_ name: String) -> Self { Self(key: name, field: "until") }
}
