import FixtureServer
import PlatformC

/// A small origin on loopback to try cachefetch against, and a tour that shows what it does.
@main struct DemoOrigin {
  static let usage = """
    usage: demo-origin                 serve until standard input ends; the first line printed is the URL
           demo-origin --tour PROGRAM  show five scenes with the given cachefetch

    While it serves, lines on standard input change it: news (the next edition), stop, start. It answers each with a
    line once that is done.

    """

  static func main() async throws {
    switch Array(CommandLine.arguments.dropFirst()) {
    case []: try serve()
    case let arguments where arguments.count == 2 && arguments[0] == "--tour":
      exit(try await Tour(program: arguments[1]).run())
    default:
      print(usage, terminator: "")
      exit(64)
    }
  }

  /// Written directly to the descriptor, without a buffer, since a reader of the pipe waits for it.
  private static func line(_ text: String) { _ = write(1, text + "\n", text.utf8.count + 1) }

  private static func serve() throws {
    let origin = try NewsOrigin()
    line("\(origin.server.url)/news")
    while let line = readLine() {
      switch line {
      case "news": origin.publish()
      case "stop": origin.server.stop()
      case "start": try origin.server.start()
      default:
        self.line("news, stop or start")
        continue
      }
      self.line("done: \(line)")
    }
  }
}
