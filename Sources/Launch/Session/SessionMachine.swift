/// The state machine of a session: its phases, and the effects of each event. Pure.
///
/// Three numbers make late events harmless. The *epoch* changes whenever another account, or none, is signed in; results
/// from an earlier epoch are not delivered. The *token number* changes with every token; a refusal of an older token
/// says nothing about the current one. *Renewals* are numbered: a result is taken unless that of a later renewal, or
/// another credential, has come before it.
struct SessionMachine: Sendable {
  /// What has happened.
  enum Event: Sendable, Hashable {
    /// The credential store has answered.
    case read(Credential?)
    case unreadable(String)
    /// An account has signed in.
    case signedIn(Credential)
    /// The origin refused the token of this number, or it has expired by the clock.
    case rejected(tokenNumber: UInt64)
    /// The origin refused a token that was just renewed.
    case rejectedAgain(tokenNumber: UInt64)
    /// The renewal of this number has brought a credential.
    case renewed(UInt64, Credential)
    /// The token could not be renewed: for good, or because the network failed or it took too long.
    case notRenewed(UInt64, isTransient: Bool)
    case signOutBegan
    case signOutEnded
  }

  /// What to do.
  enum Effect: Sendable, Hashable {
    case save(Credential)
    case renew(Credential, UInt64)
  }

  private(set) var phase = SessionPhase.launching
  /// That of the account that is signed in or has expired.
  private(set) var credential: Credential?
  private(set) var epoch: UInt64 = 0
  private(set) var tokenNumber: UInt64 = 0
  private(set) var isRenewing = false
  /// The number of the last renewal that was begun.
  private(set) var renewal: UInt64 = 0
  /// The number of the last renewal whose result is not taken any more.
  private var lastOver: UInt64 = 0
  /// Whether there is a way to renew a token.
  let canRenew: Bool

  init(canRenew: Bool) { self.canRenew = canRenew }

  mutating func handle(_ event: Event) -> [Effect] {
    switch (event, phase) {
    case (.read(let credential?), .launching):
      begin(credential)
    case (.read(nil), .launching):
      phase = .signedOut(.noCredential)
    case (.unreadable(let message), .launching):
      phase = .signedOut(.unreadable(message))
    case (.signedIn, .signingOut):
      // `signIn` awaits a sign-out before it sends this event.
      break
    case (.signedIn(let credential), _):
      lastOver = renewal
      begin(credential)
      return [.save(credential)]
    case (.rejected(let tokenNumber), .signedIn(let account)) where tokenNumber == self.tokenNumber:
      guard canRenew else {
        phase = .expired(account: account)
        break
      }
      guard !isRenewing, let credential else { break }
      isRenewing = true
      renewal += 1
      return [.renew(credential, renewal)]
    case (.rejectedAgain(let tokenNumber), .signedIn(let account)) where tokenNumber == self.tokenNumber:
      isRenewing = false
      phase = .expired(account: account)
    case (.renewed(let number, let credential), .signedIn(let account))
    where number > lastOver && credential.account == account:
      // Also one whose time is over: the origin may not take the older refresh token again.
      lastOver = number
      begin(credential)
      return [.save(credential)]
    case (.renewed(let number, _), .signedIn(let account)),
      (.notRenewed(let number, false), .signedIn(let account)):
      guard number == renewal, isRenewing else { break }
      isRenewing = false
      phase = .expired(account: account)
    case (.notRenewed(let number, true), _) where number == renewal:
      isRenewing = false
    case (.signOutBegan, .signedIn(let account)), (.signOutBegan, .expired(let account)):
      phase = .signingOut(account: account)
      credential = nil
      isRenewing = false
      lastOver = renewal
      epoch += 1
      tokenNumber += 1
    case (.signOutEnded, .signingOut):
      phase = .signedOut(.requested)
    default:
      // A late or repeated event.
      break
    }
    return []
  }

  private mutating func begin(_ credential: Credential) {
    if credential.account != phase.account { epoch += 1 }
    tokenNumber += 1
    self.credential = credential
    isRenewing = false
    phase = .signedIn(account: credential.account)
  }
}

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
