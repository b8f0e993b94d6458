/// Who is signed in, as far as the program can know.
public enum SessionPhase: Sendable, Hashable {
  /// Why nobody is signed in.
  public enum Reason: Sendable, Hashable {
    /// No credential was found at launch.
    case noCredential
    /// The credential could not be read at launch.
    case unreadable(String)
    /// The account was signed out.
    case requested
  }

  /// The credential is being read.
  case launching
  /// Nobody is signed in.
  case signedOut(Reason)
  /// An account is signed in; its token may be under renewal.
  case signedIn(account: String)
  /// The origin refuses the account's token, and the token cannot be renewed. The account's data is still stored.
  case expired(account: String)
  /// The account is being signed out: nothing of it is delivered from now on.
  case signingOut(account: String)

  /// The account that the phase is about.
  public var account: String? {
    switch self {
    case .launching, .signedOut: nil
    case .signedIn(let account), .expired(let account), .signingOut(let account): account
    }
  }
}
