public import DataService

/// A second tier on a server of the Redis protocol.
///
/// Its calls come from the service's thread; what they do is done on the tier's own, which justifies `@unchecked Sendable`.
package final class RedisTier: SecondTier, @unchecked Sendable {
  package let terms: TierTerms
  let server: TierServer
  let accounts: SharedAccounts

  init(_ address: RedisAddress) {
    terms = address.terms
    server = TierServer(address)
    accounts = SharedAccounts(on: server)
  }

  package func attach(to host: TierHost) { server.attach(to: host) }

  package func close() { server.close() }

  package func signOut(_ account: String) async -> Bool {
    await server.run { [self] in await removeKeys(of: account) }
  }

  private func removeKeys(of account: String) async -> Bool {
    accounts.forget(account)
    if terms.isReadOnly { return false }
    do throws(TierServer.Unavailable) {
      let (link, host) = try server.admit()
      var command = RESPWriter()
      command.write(["UNLINK"] + link.keys.all.map { $0.names.key(of: account) })
      let reply = try await server.call(command, over: link, host).first ?? .null
      // A question that was under way meanwhile has noted the keys that are gone now.
      accounts.forget(account)
      if reply.number != nil { return true }
      server.warn(
        TierServer.shortened(reply.failure ?? "it gives no answer"),
        remedy: reply.failure.flatMap(TierServer.remedy))
      return false
    } catch {
      return false
    }
  }
}

extension RedisTier {
  /// An engine for a URL as ``DataService/Tier/redis(_:)`` takes it.
  package static func engine(_ url: String) throws(DataServiceError) -> any SecondTier {
    RedisTier(try RedisAddress(url))
  }
}

extension DataService.Tier {
  /// A shared second tier on a server of the Redis protocol, 6.2 or newer.
  ///
  /// The URL is `redis://HOST:PORT/DB`, `rediss://` with TLS, or `redis+unix:///SOCKET`, a user before the host, and
  /// parameters:
  /// - `key-file`: the fleet's keys, four at most; required
  /// - `password-file`, `ca-file`, `cert-file`, `cert-key-file`
  /// - `patience`: the longest wait for an answer, from 1ms to 60s, by default 95ms. Over an open connection each round
  ///   trip has half of it; a long body has eight times that.
  /// - `keep`: how long a row lives, from 1s to 365d, by default 1d
  /// - `max-body`: the longest body that is shared, 128M at most, by default 8M
  /// - `accounts`, `plain-http=yes`, `read-only=yes`
  /// - `db`: the number of the database beside a socket, 0 unless given. For any other than 0 the user needs the right
  ///   to `SELECT`.
  ///
  /// Nothing is opened or read before the first question; a file that is missing then makes the tier silent, with a
  /// warning. May be called on any thread. `accounts` has the names of the accounts that the fleet shares, with commas
  /// between; what is stored for any other account stays on this machine.
  /// - Throws: `invalidRequest` naming the part of the URL that is wrong, and what to write in its place.
  public static func redis(_ url: String) throws(DataServiceError) -> DataService.Tier {
    let address = try RedisAddress(url)
    return DataService.Tier { RedisTier(address) }
  }
}
