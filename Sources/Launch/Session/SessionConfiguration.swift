internal import CacheStore
public import DataService
public import PlatformFoundation

extension Session {
  /// How a session recognises and renews an expired token.
  public struct Configuration: Sendable {
    /// The statuses with which the origin refuses a token.
    public var expiredStatuses: Set<Int> = [401]
    /// Puts the token on a request; by default as `Authorization: Bearer`.
    public var authorize: @Sendable (inout DataService.Request, Credential) -> Void = { request, credential in
      request.fields["Authorization"] = "Bearer \(credential.token)"
    }
    /// Gets a new token for the same account; `nil` if tokens cannot be renewed. One call serves all waiting requests.
    /// A thrown `DataServiceError` about the network or a time-out counts as transient; any other error ends the
    /// session.
    public var renew: (@Sendable (Credential) async throws -> Credential)?
    /// How long before its expiry a token counts as expired.
    public var expiryMargin: Duration = .seconds(5)
    /// The wall clock.
    public var now: @Sendable () -> Date = { Date() }

    /// The defaults.
    public init() {}
  }
}
