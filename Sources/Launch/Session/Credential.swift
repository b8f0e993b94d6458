public import FoundationEssentials

/// What proves who is signed in. Never printed: its description names the account only.
public struct Credential: Sendable, Hashable, Codable, CustomStringConvertible, CustomReflectable {
  /// The account's name; its rows in the store are those of `Account.named(account)`.
  public var account: String
  /// What is sent.
  public var token: String
  /// What a new token is got with, where the origin gives such a thing.
  public var refreshToken: String?
  /// When the token expires, where that is known.
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

/// Where an app keeps the credential, such as a keychain or a file that only its user may read. It is what says
/// whether somebody is signed in when the program starts again.
public protocol CredentialStore: Sendable {
  /// The credential, or `nil` while nobody is signed in.
  func credential() async throws -> Credential?
  /// Keeps a credential in place of the one before.
  func save(_ credential: Credential) async throws
  /// Removes the credential; removing none is no error.
  func remove() async throws
}
