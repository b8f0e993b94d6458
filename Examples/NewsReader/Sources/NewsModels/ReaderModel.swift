import DataService
import Launch
import Observation

/// What the program shows as a whole, by who is signed in.
@MainActor @Observable public final class ReaderModel {
  /// The screens.
  public enum Screen {
    /// It is not known yet who is signed in, or somebody is being signed out.
    case waiting
    /// Nobody is signed in.
    case login
    /// Somebody is, and this is their list.
    case list(ListModel)
  }

  /// What is shown.
  public private(set) var screen = Screen.waiting
  /// What is said above the screen: why somebody has to sign in again, or could not.
  public private(set) var notice: String?

  private let api: NewsAPI
  private let service: DataService
  private let session: Session
  @ObservationIgnored private var isSigningOut = false

  /// A program in which nobody knows yet who is signed in.
  public init(api: NewsAPI, service: DataService, session: Session) {
    self.api = api
    self.service = service
    self.session = session
  }

  /// Finds out who is signed in.
  public func start() async {
    await session.start()
    show()
  }

  /// Follows the session for as long as the task runs: its end may come from an answer to any request.
  public func follow() async {
    // Phases may come late; what counts is the present one.
    for await _ in session.phases { show() }
  }

  /// Signs in; who is signed in already is replaced, and keeps what is stored under its name.
  public func signIn(_ name: String) async {
    do {
      try await session.signIn(api.credential(for: name, from: service))
      show()
    } catch {
      // Who is signed in all the same has a credential that could not be kept.
      show()
      notice = "Signing in failed: \((error as? DataServiceError)?.message ?? "\(error)")"
    }
  }

  /// Signs out. Nothing of the account is on the screen from the moment of the call, and nothing of it is stored when this returns.
  public func signOut() async {
    leave()
    screen = .waiting
    isSigningOut = true
    var failure: String?
    do throws(DataServiceError) { try await session.signOut() } catch { failure = error.message }
    isSigningOut = false
    show()
    if let failure { notice = "Signing out: \(failure)" }
  }

  private func show() {
    // Until the session has taken notice of the sign-out, it names the account still.
    guard !isSigningOut else { return }
    switch session.current {
    case .launching, .signingOut:
      screen = .waiting
    case .signedIn(let account):
      if case .list(let list) = screen, list.account == account { return }
      leave()
      notice = nil
      screen = .list(ListModel(account: account, source: NewsSource(api, session: session)))
    case .expired(let account):
      login("The session of \(account) has expired.")
    case .signedOut(.unreadable(let reason)):
      login("Who is signed in cannot be read: \(reason)")
    case .signedOut(.requested):
      login("Signed out.")
    case .signedOut(.noCredential):
      login(nil)
    }
  }

  private func login(_ reason: String?) {
    // Shown already, and perhaps with another notice since.
    if case .login = screen { return }
    leave()
    notice = reason
    screen = .login
  }

  /// What is shown belongs to an account that is no longer the one: a load of its that ends late shows nothing.
  private func leave() {
    if case .list(let list) = screen { list.leave() }
  }
}
