internal import DataService

/// The keys of the accounts that the fleet shares by name, as the last question found them in the tier.
///
/// Used on the tier's thread alone.
final class SharedAccounts {
  private let server: TierServer
  private var keysByAccount: [String: AccountKeys] = [:]
  private var lastNumber = 0

  init(on server: TierServer) { self.server = server }

  /// The keys of an account, without asking the tier for them.
  func knownKeys(of account: String) -> AccountKeys? { keysByAccount[account] }

  /// Forgets the keys of an account: the next question reads them from the tier.
  func forget(_ account: String) { keysByAccount[account] = nil }

  /// Reads the keys of an account from the tier, and notes them.
  /// - Parameter isMaking: Whether a key is made if there is none for the first of the fleet's keys.
  func fetchKeys(
    of account: String, isMaking: Bool, until deadline: Int64? = nil, _ link: TierServer.Link,
    _ host: TierHost
  ) async throws(TierServer.Unavailable) -> AccountKeys {
    let names = link.keys.all.map { $0.names.key(of: account) }
    var commands = RESPWriter()
    if isMaking {
      let new = AccountKeys.generate(with: link.keys.first, at: .accountKey(names[0]))
      commands.write(
        [Array("SET".utf8), Array(names[0].utf8), new]
          + ["NX", "PX", "\(server.address.lifetime)"].map { Array($0.utf8) })
    }
    for name in names { commands.write(["GET", name]) }
    let replies = try await server.call(commands, over: link, host, until: deadline)
    // If the server refuses it, there is no key, and a later offer is refused for that reason.
    if isMaking, let text = replies.first?.failure {
      server.warn(TierServer.shortened(text), remedy: TierServer.remedy(for: text))
    }
    let found = replies.suffix(names.count).map(\.bytes)
    if let keys = keysByAccount[account], keys.isSame(as: found) { return keys }
    lastNumber += 1
    let keys = AccountKeys(found, number: lastNumber) { index, sealed in
      let key = AccountKeys.opened(sealed, with: link.keys.all[index], at: .accountKey(names[index]))
      server.count(opened: key != nil, host)
      return key
    }
    keysByAccount[account] = keys
    return keys
  }

  /// The keys that a question's rows may be under, without asking the tier for them again.
  func keys(for question: TierQuestion, _ link: TierServer.Link) -> [TierKeys.Key] {
    question.account.isEmpty ? link.keys.all : keysByAccount[question.account]?.all ?? []
  }

  /// The key that seals what is offered with a ticket; `nil` where the account was signed out since, or has none.
  func sealingKey(for question: TierQuestion, _ ticket: TierTicket, _ link: TierServer.Link) -> TierKeys.Key?
  {
    guard !question.account.isEmpty else { return link.keys.first }
    guard let keys = keysByAccount[question.account], keys.number == ticket.accountKeys else { return nil }
    return keys.first
  }

  /// Lets the key of a question's account live on, beside a row of it.
  func commandToKeep(_ question: TierQuestion, _ link: TierServer.Link) -> [[[UInt8]]] {
    guard !question.account.isEmpty else { return [] }
    return [
      ["PEXPIRE", link.keys.first.names.key(of: question.account), "\(server.address.lifetime)"].map {
        Array($0.utf8)
      }
    ]
  }
}

extension Seal.Place {
  /// The place of an account's key.
  static func accountKey(_ name: String) -> Self { Self(key: name, field: "key") }
}
