import Dispatch
import NewsModels
import Observation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The models as text: printed anew whenever it has become another. What a person types is obeyed line by line.
///
/// A number is the finger that comes down on a headline, Return the tap: between the two the story is fetched.
@MainActor final class TextScreen {
  private let model: ReaderModel
  private var shown: String?
  private weak var list: ListModel?
  private var chosen: Headline?

  init(_ model: ReaderModel) { self.model = model }

  /// Runs until the person quits, or there is nothing more to read.
  func run() async {
    let following = Task { [model] in await model.follow() }
    draw()
    await model.start()
    for await line in Self.lines() {
      guard obey(String(line.drop(while: \.isWhitespace))) else { break }
    }
    following.cancel()
  }

  private static func lines() -> AsyncStream<String> {
    AsyncStream { continuation in
      DispatchQueue.global().async {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
    }
  }

  // MARK: - What is shown

  private func draw() {
    let text = withObservationTracking {
      TextForm.of(model)
    } onChange: { [weak self] in
      // Said before the change: by the time the main actor comes to it, it has been made.
      Task { @MainActor [weak self] in self?.draw() }
    }
    if text != shown { Self.put(text) }
    shown = text
    appear()
  }

  /// A list that is shown for the first time begins to load.
  private func appear() {
    guard case .list(let list) = model.screen, list !== self.list else { return }
    self.list = list
    chosen = nil
    Task { await list.appear() }
  }

  private static func put(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
      guard written > 0 else { return }
      rest = rest.dropFirst(written)
    }
  }

  // MARK: - What is typed

  /// Does what the person typed; `false` ends the program.
  private func obey(_ line: String) -> Bool {
    if line == "q" { return false }
    switch model.screen {
    case .waiting: break
    case .login: if !line.isEmpty { Task { await model.signIn(line) } }
    case .list(let list) where list.story != nil: if line == "b" { list.close() }
    case .list(let list): obey(line, in: list)
    }
    return true
  }

  private func obey(_ line: String, in list: ListModel) {
    switch line {
    case "r": Task { await list.refresh() }
    case "o": Task { await model.signOut() }
    case "": openChosen(in: list)
    default:
      chosen = Int(line).flatMap { number in list.headlines.first { $0.id == number } }
      if let chosen { list.touchDown(chosen) }
    }
  }

  private func openChosen(in list: ListModel) {
    guard let chosen else { return }
    list.open(chosen)
    Task { [story = list.story] in await story?.appear() }
  }
}
