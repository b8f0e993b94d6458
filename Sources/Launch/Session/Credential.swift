public import PlatformFoundation

/// Proves who is signed in. Its description names only the account, so that printing it reveals no secret.
public struct Credential: Sendable, Hashable, Codable, CustomStringConvertible, CustomReflectable {
  /// The account's name; its rows in the store are those of `Account.named(account)`.
  public var account: String
  /// The token sent with requests.
  public var token: String
  /// The token to renew ``token`` with, if the origin issues one.
  public var refreshToken: String?
  /// When the token expires, if known.
  public var expiresAt: Date?

  /// Makes a credential.
  public init(account: String, token: String, refreshToken: String? = nil, expiresAt: Date? = nil) {
    self.account = account
    self.token = token
    self.refreshToken = refreshToken
    self.expiresAt = expiresAt
  }

  /// The account, without anything secret.
  public var description: String { "Credential(account: \(account))" }
  /// The account, without anything secret.
  public var customMirror: Mirror { Mirror(self, children: ["account": account]) }
}

/// Where an app keeps the credential, such as a keychain or a file that only its user may read. At launch it decides
/// whether an account is signed in.
public protocol CredentialStore: Sendable {
  /// The credential, or `nil` while nobody is signed in.
  func credential() async throws -> Credential?
  /// Saves a credential, replacing the previous one.
  func save(_ credential: Credential) async throws
  /// Removes the credential; it is no error if there is none.
  func remove() async throws
}
