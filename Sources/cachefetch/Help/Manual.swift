/// The manual page in mdoc(7), generated from the table of options and the verbs.
enum Manual {
  /// The whole page.
  static func text() -> String {
    ([head, verbs, options, notes, environment, exitStatus, examples, ending] as [String]).joined()
  }

  private static let head = """
    .Dd November 22, 2026
    .Dt CACHEFETCH 1
    .Os
    .Sh NAME
    .Nm cachefetch
    .Nd print the last good response now, and the fresh one as soon as it arrives
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
    keeps the last good response to each HTTP request in one SQLite file.
    Asked again it writes the stored response to standard output at once,
    asks the server for a fresh one at the same time,
    and writes that when it is complete.
    Bodies go to standard output, everything else to standard error.
    When standard error is a terminal,
    each delivery is introduced there by one line.
    .Pp
    A failed refresh changes nothing:
    the stored response stays what it was and is what
    .Fl -offline
    writes.
    .Pp
    Durations are written
    .Ql 500ms ,
    .Ql 30s ,
    .Ql 5m ,
    .Ql 2h
    and
    .Ql 7d ;
    a bare number is seconds.
    Sizes are written
    .Ql 64k ,
    .Ql 10M
    and
    .Ql 1G ,
    in powers of 1,024; what is printed is in powers of 1,000.

    """

  private static var verbs: String {
    var text = ".Sh VERBS\n.Bl -tag -width Ds\n"
    for verb in Verb.allCases {
      text += ".It Cm \(escaped(verb.rawValue))\(operands(of: verb))\n"
      text += sentence(verb.summary)
    }
    return text + ".El\n"
  }

  /// The notes on single verbs, each verb in its own section.
  private static var notes: String {
    var text = ""
    for verb in Verb.allCases {
      var begins = false
      for note in verb.notes {
        switch note {
        case .heading(let heading):
          text += ".Sh \(escaped(heading.uppercased()))\n"
          begins = true
        case .paragraph(let words):
          let sentences = words.split(separator: ". ").map { sentence(String($0)) }
          text += (begins ? "" : ".Pp\n") + sentences.joined()
          begins = false
        case .literal(let lines):
          text += ".Bd -literal -offset indent\n" + lines.map { escaped($0) + "\n" }.joined() + ".Ed\n"
        }
      }
    }
    return text
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
      text += texts(option.helpByVerbs)
    }
    return text + ".El\n"
  }

  /// Texts, each with the verbs it is for.
  private static func texts(_ all: [Option.VerbText]) -> String {
    var text = ""
    for (index, part) in all.enumerated() {
      if index > 0 { text += ".Pp\n" }
      text += sentence(part.text) + sentence("With: \(verbNames(part.verbs)).")
    }
    return text
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
    .It Ev CACHEFETCH_TIER
    The server through which machines share responses, where
    .Fl -tier
    names none.
    .It Ev XDG_CACHE_HOME
    The user's cache folder, instead of
    .Pa ~/.cache .
    .It Ev http_proxy , https_proxy , all_proxy , no_proxy
    The proxy, where
    .Fl -proxy
    names none.
    .It Ev CURL_CA_BUNDLE , SSL_CERT_DIR , SSL_CERT_FILE
    The certificate authorities to trust, as for curl, where
    .Fl -cacert
    names none.
    .It Ev NETRC
    The file that
    .Fl -netrc
    reads, instead of
    .Pa ~/.netrc .
    .It Ev COLUMNS
    The width of help, where standard output is no terminal.
    .It Ev LC_ALL , LC_CTYPE , LANG
    Messages are in ASCII where the locale's character set is not UTF-8.
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
    for status in ExitStatus.allCases where !status.meaningsByVerbs.isEmpty {
      text += ".It \(status.rawValue)\n" + texts(status.meaningsByVerbs)
    }
    return text + ".El\n.Pp\n" + sentence(ExitStatus.combination)
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
    .Xr curl 1 ,
    .Xr sqlite3 1
    .Sh STANDARDS
    Caching follows RFC 9111 under
    .Fl -policy Cm http .

    """

  /// A sentence, full stop or colon last, in lines of at most 78 columns. It begins with a capital, unless its first
  /// word is the name of a key.
  static func sentence(_ text: String) -> String {
    let end = text.hasSuffix(".") || text.hasSuffix(":") ? "" : "."
    let first = text.prefix { $0 != " " && $0 != "," }
    let beginsWithKey = first.contains("_") || first.contains(":") || first == "readiness"
    let whole = (beginsWithKey ? text.prefix(1) : text.prefix(1).uppercased()[...]) + text.dropFirst() + end
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

  /// Text escaped so that roff sees no request and no escape in it.
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
