/// The manual page, in mdoc(7), made of the table of options and the verbs.
enum Manual {
  /// The whole page.
  static func text() -> String {
    ([head, verbs, options, environment, exitStatus, examples, ending] as [String]).joined()
  }

  private static let head = """
    .Dd November 21, 2026
    .Dt CACHEFETCH 1
    .Os
    .Sh NAME
    .Nm cachefetch
    .Nd print the last good answer now, and the fresh one when the network has it
    .Sh SYNOPSIS
    .Nm
    .Op Cm get
    .Op Ar options
    .Ar URL ...
    .Nm
    .Ar verb
    .Op Ar options
    .Op Ar operands
    .Sh DESCRIPTION
    .Nm
    keeps the last good answer to each HTTP request in one SQLite file.
    Asked again it writes the stored answer to standard output at once,
    asks the origin for a fresh one at the same time,
    and writes that when it is whole.
    Bodies go to standard output, everything else to standard error.
    When standard error is a terminal,
    each delivery is introduced there by one line.
    .Pp
    A failed refresh changes nothing:
    the stored answer stays what it was and is what
    .Fl -offline
    writes.
    .Pp
    Durations read
    .Ql 500ms ,
    .Ql 30s ,
    .Ql 5m ,
    .Ql 2h
    and
    .Ql 7d ;
    sizes
    .Ql 64k ,
    .Ql 10M
    and
    .Ql 1G .

    """

  private static var verbs: String {
    var text = ".Sh VERBS\n.Bl -tag -width Ds\n"
    for verb in Verb.allCases {
      text += ".It Cm \(escaped(verb.rawValue))\(operands(of: verb))\n"
      text += sentence(verb.summary)
    }
    return text + ".El\n"
  }

  private static func operands(of verb: Verb) -> String {
    verb.operands.isEmpty ? "" : " Ar " + escaped(verb.operands)
  }

  private static var options: String {
    var text = ".Sh OPTIONS\n.Bl -tag -width Ds\n"
    for option in Option.table {
      let value = option.placeholder.isEmpty ? "" : " Ar " + escaped(option.placeholder)
      let short = option.short.map { "Fl \($0) , " } ?? ""
      text += ".It \(short)Fl -\(escaped(option.name.rawValue))\(value)\n"
      text += sentence(option.help)
      text += sentence("With: \(verbNames(option.verbs)).")
    }
    return text + ".El\n"
  }

  private static func verbNames(_ verbs: VerbSet) -> String {
    if verbs == .all { return "every verb" }
    return Verb.allCases.filter { verbs.contains(VerbSet($0)) }.map(\.rawValue).joined(separator: ", ")
  }

  private static let environment = """
    .Sh ENVIRONMENT
    .Bl -tag -width Ds
    .It Ev CACHEFETCH_STORE
    The store, where
    .Fl -store
    names none.
    .It Ev XDG_CACHE_HOME
    The user's cache folder, instead of
    .Pa ~/.cache .
    .It Ev http_proxy , https_proxy , all_proxy , no_proxy
    The proxy, where
    .Fl -proxy
    names none.
    .It Ev NO_COLOR , TERM
    No colours where
    .Ev NO_COLOR
    is set, or
    .Ev TERM
    is
    .Ql dumb .
    .El
    .Sh FILES
    .Bl -tag -width Ds
    .It Pa ~/.cache/cachefetch/store.sqlite
    The store.
    Its lock file, digest key and write-ahead log stand beside it.
    .El

    """

  private static var exitStatus: String {
    var text = ".Sh EXIT STATUS\n.Bl -tag -width Ds\n"
    for status in ExitStatus.allCases { text += ".It \(status.rawValue)\n" + sentence(status.meaning) }
    return text + ".El\n.Pp\nSeveral URLs come to the first that applies of 74, 4, 22, 3 and 0.\n"
  }

  private static var examples: String {
    var text = ".Sh EXAMPLES\n.Bl -tag -width Ds\n"
    for verb in Verb.allCases {
      for (line, meaning) in verb.examples { text += ".It \(escaped(line))\n" + sentence(meaning) }
    }
    return text + ".El\n"
  }

  private static let ending = """
    .Sh SEE ALSO
    .Lk https://curl.se curl ,
    .Lk https://sqlite.org/cli.html sqlite3
    .Sh STANDARDS
    Caching follows RFC 9111 under
    .Fl -policy Cm http .

    """

  /// A sentence, capital first and full stop last, in lines of at most 78 columns.
  private static func sentence(_ text: String) -> String {
    let whole = text.prefix(1).uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
    var lines = ""
    var column = 0
    for word in whole.split(separator: " ") {
      let word = escaped(String(word))
      if column > 0, column + 1 + word.count > 78 {
        lines += "\n"
        column = 0
      } else if column > 0 {
        lines += " "
        column += 1
      }
      lines += word
      column += word.count
    }
    return lines + "\n"
  }

  /// Text in which roff sees no request and no escape.
  private static func escaped(_ text: String) -> String {
    var shown = ""
    for character in text {
      switch character {
      case "\\": shown += "\\e"
      case "-": shown += "\\-"
      case "'": shown += "\\(aq"
      case "\"": shown += "\\(dq"
      case "…": shown += "..."
      case "“": shown += "\\(lq"
      case "”": shown += "\\(rq"
      case "|": shown += "\\&|"
      default: shown.append(character)
      }
    }
    if shown.hasSuffix(" .") { shown = shown.dropLast() + "\\&." }
    return shown.hasPrefix(".") ? "\\&" + shown : shown
  }
}
