internal import CacheStore
internal import DataService

/// `help`, `--help` and `--version`.
enum HelpCommand {
  static func run(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) -> ExitStatus {
    if arguments.has(.version) { return Output.write(VersionText.text(), diagnostics) }
    switch arguments.operands.first {
    case nil: return Output.write(overview(), diagnostics)
    case "manual": return Output.write(Manual.text(), diagnostics)
    case "tier":
      return Output.write(
        String(HelpText.text(HelpText.tier, width: Terminal.pagedWidth()).dropFirst()), diagnostics)
    case let name?:
      guard let verb = Verb.named(name) else {
        throw UsageError(
          "there is no verb “\(name)”",
          Suggestion.verb(name).map { "did you mean “\($0)”?" } ?? "see cachefetch help")
      }
      return Output.write(HelpText.verb(verb, width: Terminal.pagedWidth()), diagnostics)
    }
  }

  /// The first screen, with `~` for the user's folder in the store's path.
  static func overview() -> String {
    let path = StoreLocation.path(Arguments(verb: .help, options: [], operands: []))
    let home = (Environment.value("HOME") ?? "") + "/"
    let isAtHome = home.hasPrefix("/") && home != "/" && path.hasPrefix(home)
    return HelpText.overview(store: TerminalText.visible(isAtHome ? "~/" + path.dropFirst(home.count) : path))
  }
}

/// `--version`.
enum VersionText {
  /// The versions of this program and its libraries, and the libraries' features.
  static func text() -> String {
    var transport: String
    do throws(DataServiceError) {
      transport = try SystemTransport.version()
    } catch {
      transport = "libcurl: \(Diagnostics.joined(error.message, error.advice))"
    }
    let linked = ProcessStart.linkedLibraries.map { "linked in: \($0)\n" } ?? ""
    return
      "cachefetch \(Version.string)\nSQLite \(SQLiteLibrary.version) (write-ahead log, strict tables)\n\(transport)\n\(linked)"
  }
}
