public import DataService

extension DataService.Tier {
  /// A shared second tier on a server of the Redis protocol, 6.2 or newer.
  ///
  /// The URL is `redis://HOST:PORT/DB`, `rediss://` with TLS, or `redis+unix:///SOCKET`, a user before the host, and
  /// parameters: `key-file` (the fleet's keys; required), `password-file`, `ca-file`, `cert-file`, `cert-key-file`,
  /// `patience` (the longest wait for an answer, 95ms; for a long body eight times that), `keep` (how long a row
  /// lives, 1d), `max-body` (8M), `accounts`, `plain-http=yes`, `read-only=yes`, and `db` beside a socket.
  ///
  /// Nothing is opened or read before the first question; a file that is missing then makes the tier silent, with a
  /// warning. May be called on any thread. `accounts` has the names of the accounts that the fleet shares, with commas
  /// between; what is stored for any other account stays on this machine.
  /// - Throws: `invalidRequest` naming the part of the URL that is wrong, and what to write in its place.
  public static func redis(_ url: String) throws(DataServiceError) -> DataService.Tier {
    DataService.Tier(RedisTier(try RedisAddress(url)))
  }
}
