internal import CacheStore
public import DataService
public import FoundationEssentials

extension Session {
  /// How a session recognises and renews what has expired.
  public struct Configuration: Sendable {
    /// The statuses by which the origin says that it takes the token no longer.
    public var expiredStatuses: Set<Int> = [401]
    /// Puts the token on a request; `Authorization: Bearer` unless another is given.
    public var authorize: @Sendable (inout DataService.Request, Credential) -> Void = { request, credential in
      request.fields["Authorization"] = "Bearer \(credential.token)"
    }
    /// Gets a new token for the same account; `nil` where there is no way. One call serves every request that waits.
    /// A thrown `DataServiceError` that speaks of the network or a time-out is taken as passing, any other error as
    /// the end of the session.
    public var renew: (@Sendable (Credential) async throws -> Credential)?
    /// How long before its expiry a token counts as expired.
    public var expiryMargin: Duration = .seconds(5)
    /// The wall clock.
    public var now: @Sendable () -> Date = { Date() }

    /// The defaults.
    public init() {}
  }
}
