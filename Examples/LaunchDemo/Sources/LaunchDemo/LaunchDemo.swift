import CacheStore
import DataService
import Dispatch
import Launch

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A news reader in a terminal: splash, login, a list that shows what is stored at once, sign-out.
///
///     swift run LaunchDemo ORIGIN-URL [FOLDER]
@main struct LaunchDemo {
  enum Event: Sendable {
    case root(LaunchRoot)
    case feed(News.Feed)
    case notice(String)
    case typed(String)
    case end
  }

  static func main() async {
    let arguments = CommandLine.arguments
    guard (2...3).contains(arguments.count), let origin = URL(string: arguments[1]), origin.host() != nil
    else {
      return print("usage: LaunchDemo ORIGIN-URL [FOLDER]")
    }
    var configuration = DataService.Configuration()
    if arguments.count == 3 { configuration.store = StoreConfiguration(path: arguments[2] + "/store.sqlite") }
    let folder = arguments.count == 3 ? arguments[2] : "."
    let service = DataService(configuration: configuration)
    let session = Session(
      service: service, credentials: FileCredentials(path: folder + "/launch-demo-credential.json"))
    var reader = Reader(news: News(origin: origin), service: service, session: session)
    await reader.run()
    await service.close()
  }
}

/// What the person sees and does, event by event.
struct Reader {
  typealias Event = LaunchDemo.Event

  let news: News
  let service: DataService
  let session: Session
  private let flow: LaunchFlow
  private let events: AsyncStream<Event>
  private let post: AsyncStream<Event>.Continuation
  private var screen = Screen()
  private var root = LaunchRoot.splash(nil)
  private var following: Task<Void, Never>?
  private var shown: News.Feed?

  init(news: News, service: DataService, session: Session) {
    self.news = news
    self.service = service
    self.session = session
    flow = LaunchFlow(service: service, session: session, block: News.tooOld) { _ in news.plan() }
    (events, post) = AsyncStream.makeStream(of: Event.self)
  }

  mutating func run() async {
    readLines()
    Task { [flow, post] in
      for await root in flow.roots { post.yield(.root(root)) }
    }
    flow.start()
    for await event in events {
      switch event {
      case .root(let next): show(next)
      case .feed(let feed): update(feed)
      case .notice(let text): screen.notice(text)
      case .typed(let line):
        screen.typed()
        guard obey(line.trimmed) else { return stop() }
      case .end: return stop()
      }
    }
  }

  private func stop() {
    following?.cancel()
    flow.stop()
  }

  private func readLines() {
    DispatchQueue.global().async { [post] in
      while let line = readLine() { post.yield(.typed(line)) }
      post.yield(.end)
    }
  }

  private mutating func show(_ next: LaunchRoot) {
    root = next
    following?.cancel()
    following = nil
    shown = nil
    switch next {
    case .splash(let progress): screen.splash(progress)
    case .login(let reason): screen.login(reason)
    case .failed(let prompt): screen.prompt(prompt)
    case .blocked(let reason): screen.blocked(reason)
    case .main(let outcome):
      update(outcome.value("feed", as: News.Feed.self) ?? News.Feed(items: []))
      flow.splashFaded()
      follow()
    }
  }

  /// Whatever brings a newer feed into the store, the list shows it.
  private mutating func follow() {
    following = Task { [news, session, post] in
      do {
        for try await response in session.changes(to: news.feed, as: News.Feed.self) {
          if let feed = response?.value { post.yield(.feed(feed)) }
        }
      } catch {
        // Without a store there is nothing to follow; loads go on without it.
        return
      }
    }
  }

  private mutating func update(_ feed: News.Feed) {
    guard case .main = root, feed != shown else { return }
    shown = feed
    screen.list(feed.items, title: "News for \(session.current.account ?? "nobody")")
  }

  /// Does what the person typed; `false` ends the program.
  private func obey(_ line: String) -> Bool {
    switch (root, line.lowercased()) {
    case (.login, _) where !line.isEmpty: signIn(line)
    case (.failed(let prompt), let answer):
      guard let choice = prompt.choices.first(where: { !answer.isEmpty && $0.rawValue.hasPrefix(answer) })
      else {
        return true
      }
      flow.answer(choice)
      return choice != .quit
    case (.main, "r"): refresh()
    case (.main, "o"): signOut()
    case (.main, "q"), (.blocked, _): return false
    default: break
    }
    return true
  }

  private func signIn(_ name: String) {
    Task { [news, service, session, post] in
      do {
        try await session.signIn(news.credential(for: name, using: service))
      } catch {
        post.yield(.notice("Signing in failed: \((error as? DataServiceError)?.message ?? "\(error)")"))
      }
    }
  }

  private func signOut() {
    Task { [session, post] in
      do throws(DataServiceError) {
        try await session.signOut()
      } catch {
        post.yield(.notice("Signing out: \(error.message)"))
      }
    }
  }

  private func refresh() {
    Task { [news, session, post] in
      for await delivery in session.deliveries(for: news.feed, as: News.Feed.self, policy: .freshOnly) {
        if case .failure(let error, _) = delivery { post.yield(.notice("No fresh news: \(error.message)")) }
      }
    }
  }
}

extension String {
  fileprivate var trimmed: String {
    let start = drop(while: \.isWhitespace)
    return start.lastIndex { !$0.isWhitespace }.map { String(start[...$0]) } ?? ""
  }
}
