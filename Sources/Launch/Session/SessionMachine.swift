/// The state machine of a session: its phases, and the effects of each event. Pure.
///
/// Two numbers make late events harmless. The *epoch* changes whenever another account, or none, is signed in; results
/// from an earlier epoch are not delivered. The *token number* changes with every token; a refusal of an older token
/// says nothing about the current one.
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
    case renewed(epoch: UInt64, Credential)
    /// The token could not be renewed: for good, or because the network failed.
    case notRenewed(epoch: UInt64, isTransient: Bool)
    case signOutBegan
    case signOutEnded
  }

  /// What to do.
  enum Effect: Sendable, Hashable {
    case save(Credential)
    case renew(Credential, epoch: UInt64)
  }

  private(set) var phase = SessionPhase.launching
  private(set) var credential: Credential?
  private(set) var epoch: UInt64 = 0
  private(set) var tokenNumber: UInt64 = 0
  private(set) var isRenewing = false
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
      begin(credential)
      return [.save(credential)]
    case (.rejected(let tokenNumber), .signedIn(let account)) where tokenNumber == self.tokenNumber:
      guard canRenew else {
        phase = .expired(account: account)
        break
      }
      guard !isRenewing, let credential else { break }
      isRenewing = true
      return [.renew(credential, epoch: epoch)]
    case (.rejectedAgain(let tokenNumber), .signedIn(let account)) where tokenNumber == self.tokenNumber:
      phase = .expired(account: account)
    case (.renewed(let epoch, let credential), .signedIn(let account))
    where epoch == self.epoch && isRenewing && credential.account == account:
      begin(credential)
      return [.save(credential)]
    case (.renewed(let epoch, _), .signedIn(let account)),
      (.notRenewed(let epoch, false), .signedIn(let account)):
      guard epoch == self.epoch, isRenewing else { break }
      isRenewing = false
      phase = .expired(account: account)
    case (.notRenewed(let epoch, true), _) where epoch == self.epoch:
      isRenewing = false
    case (.signOutBegan, .signedIn(let account)), (.signOutBegan, .expired(let account)):
      phase = .signingOut(account: account)
      credential = nil
      isRenewing = false
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
