internal import CacheStore
internal import DataService
internal import PlatformFoundation

// Accounts that the fleet shares by name.
extension RedisTier {
  /// Reads the keys of an account from the tier, and notes them.
  /// - Parameter isMaking: Whether a key is made if there is none for the first of the fleet's keys.
  nonisolated(nonsending) func fetchKeys(
    of account: String, isMaking: Bool, until deadline: Int64? = nil, _ link: Link, _ host: TierHost
  ) async throws(Silent) -> AccountKeys {
    let names = link.keys.all.map { $0.names.key(of: account) }
    var commands = RESPWriter()
    if isMaking {
      let new = AccountKeys.generate(with: link.keys.first, at: .accountKey(names[0]))
      commands.write(
        [Array("SET".utf8), Array(names[0].utf8), new] + ["NX", "PX", "\(lifetime)"].map { Array($0.utf8) })
    }
    for name in names { commands.write(["GET", name]) }
    let replies = try await call(commands, over: link, host, until: deadline)
    // If the server refuses it, there is no key, and a later offer is refused for that reason.
    if isMaking, let text = replies.first?.failure {
      warn(Self.shortened(text), remedy: Self.remedy(for: text))
    }
    let found = replies.suffix(names.count).map(\.bytes)
    if let known = accountKeys[account], known.isSame(as: found) { return known }
    lastAccountKeys += 1
    let keys = AccountKeys(found, number: lastAccountKeys) { index, sealed in
      let key = AccountKeys.opened(sealed, with: link.keys.all[index], at: .accountKey(names[index]))
      count(opened: key != nil, host)
      return key
    }
    accountKeys[account] = keys
    return keys
  }

  /// The keys that a question's rows may be under, without asking the tier for them again.
  func keysKnown(for question: TierQuestion, _ link: Link) -> [TierKeys.Key] {
    question.account.isEmpty ? link.keys.all : accountKeys[question.account]?.all ?? []
  }

  /// The key that seals what is offered with a ticket; `nil` where the account was signed out since, or has none.
  func sealingKey(for question: TierQuestion, _ ticket: TierTicket, _ link: Link) -> TierKeys.Key? {
    guard !question.account.isEmpty else { return link.keys.first }
    guard let keys = accountKeys[question.account], keys.number == ticket.accountKeys else { return nil }
    return keys.first
  }

  /// How long a row lives after it was last offered, in milliseconds; an account's key lives as long as its rows.
  var lifetime: Int64 { address.keep.clampedNanoseconds / 1_000_000 }

  /// Lets the key of a question's account live on, beside a row of it.
  func commandToKeep(_ question: TierQuestion, _ link: Link) -> [[[UInt8]]] {
    guard !question.account.isEmpty else { return [] }
    return [
      ["PEXPIRE", link.keys.first.names.key(of: question.account), "\(lifetime)"].map { Array($0.utf8) }
    ]
  }

  nonisolated(nonsending) package func signOut(_ account: String) async -> Bool {
    accountKeys[account] = nil
    if terms.isReadOnly { return false }
    do throws(Silent) {
      let (link, host) = try admit()
      var command = RESPWriter()
      command.write(["UNLINK"] + link.keys.all.map { $0.names.key(of: account) })
      let reply = try await call(command, over: link, host).first ?? .null
      // A question that was under way meanwhile has noted the keys that are gone now.
      accountKeys[account] = nil
      if reply.number != nil { return true }
      warn(Self.shortened(reply.failure ?? "it gives no answer"), remedy: reply.failure.flatMap(Self.remedy))
      return false
    } catch {
      return false
    }
  }
}

extension Seal.Place {
  /// The place of an account's key.
  static func accountKey(_ name: String) -> Self { Self(key: name, field: "key") }
}
