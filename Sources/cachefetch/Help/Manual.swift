/// The manual page in mdoc(7), generated from the table of options and the verbs.
enum Manual {
  /// The whole page.
  static func text() -> String {
    ([
      head, verbs, options, text(Verb.allCases.flatMap(\.notes) + HelpText.tier + more), exitStatus, examples,
      ending,
    ] as [String]).joined()
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
    In a script,
    .Fl -one
    writes one body, never an error page, and the exit status says which:
    0 fresh, 3 stored, 4 or 22 nothing.
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

  /// Notes, each heading with its section.
  private static func text(_ notes: [Note]) -> String {
    var text = ""
    var begins = false
    for note in notes {
      switch note {
      case .heading(let heading): text += ".Sh \(escaped(heading.uppercased()))\n"
      case .paragraph(let words): text += (begins ? "" : ".Pp\n") + sentences(words)
      case .literal(let lines):
        text += ".Bd -literal -offset indent\n" + lines.map { escaped($0) + "\n" }.joined() + ".Ed\n"
      case .items(let items):
        text +=
          ".Bl -tag -width Ds\n"
          + NamedText.lines(items).map { ".It \(escaped($0.name))\n" + sentences($0.text) }.joined() + ".El\n"
      }
      begins = if case .heading = note { true } else { false }
    }
    return text
  }

  private static func sentences(_ words: String) -> String {
    words.split(separator: ". ").map { sentence(String($0)) }.joined()
  }

  private static func operands(of verb: Verb) -> String {
    verb.operands.isEmpty ? "" : " Ar " + escaped(verb.operands)
  }

  private static var options: String {
    var (text, group) = (
      ".Sh OPTIONS\n.Ss \(escaped(OptionGroup.answer.rawValue))\n.Bl -tag -width Ds\n", OptionGroup.answer
    )
    for option in Option.table {
      if option.name.group != group {
        group = option.name.group
        text += ".El\n.Ss \(escaped(group.rawValue))\n.Bl -tag -width Ds\n"
      }
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

  /// What an offline reader needs besides: JSON, the variables of `-w`, the environment, the files.
  private static let more: [Note] = [
    .heading("JSON"),
    .paragraph(
      "With --json each delivery is an object on a line. A member is absent where it does not apply, its name never "
        + "changes meaning, and later releases may add members:"),
    .items(
      """
      delivery | “stored”, “fresh” or “failure”
      url, response_url | the URL asked for; the URL that answered, after redirects
      method, account, status | of the request and the response
      fields | the headers as received, an array of [name, value]; of a stored response with Age and Cache-Status
      body, body_base64 | the body as text if it is valid UTF-8, else in base64
      body_bytes, body_omitted | its length; true if it is not in the object: in the file of -o, or over 16 MiB
      stored_at, age_ms, stale | when it was received; its age; whether RFC 9111 calls it stale
      elapsed_ms | the time from the start of the load to this delivery
      change, revalidated | “new”, “changed” or “unchanged”; whether a 304 confirmed the stored body
      kept, kept_reason | whether the response is stored now, and if not, why
      source, shared, shared_reason | “tier” if it came from another machine; whether it is shared, and if not, why
      error | an object with kind, message and hint. The kinds are \(kinds)
      """),
    .paragraph(
      "preload writes url, delivery, state, status, change, kept and error for each request; watch writes deliveries; diff "
        + "writes url, method, result, stored, fresh, changes (or text) and error; list what is stored: url or key, method, "
        + "account, extra, variant, status, fields, body_bytes, stored_at, changed_at, used_at, age_ms, stale, pinned, "
        + "imported, tags, damaged; stats counts for each account and host; doctor subject, severity, message and remedy; "
        + "export and import verb, file, responses and left_out."),
    .heading("write-out variables"),
    .paragraph(
      "-w FORMAT is written when a URL's load is over, with \\n, \\t, \\r and %% as in curl, and with these variables:"
    ),
    .items(
      """
      http_code, response_code | the status that the server has answered with, 000 if it has not
      printed | which body was printed: stored, fresh, both or none
      delivery, exitcode, errormsg | the last delivery's kind; this URL's exit status; the message of its failure
      content_type, http_version, num_headers | of the newest response; %header{NAME} is one of its headers
      size_download, time_total | bytes of body from the server, 0 for a stored one; seconds
      url, url_effective, num_redirects | the URL given; the URL that answered; how many redirects were followed
      method, scheme, urlnum, filename_effective | of the request; the number of the URL, from 0; the file of -o
      json, stdout, stderr | all of them as an object; what follows goes to standard output or standard error
      """),
    .heading("environment"),
    .items(
      """
      CACHEFETCH_STORE | the store, if --store names none; ~/ is the user's folder
      CACHEFETCH_TIER | the Redis server through which machines share responses, if --tier names none
      XDG_CACHE_HOME | the user's cache folder, instead of ~/.cache
      http_proxy, https_proxy, all_proxy, no_proxy | the proxy, if --proxy names none
      CURL_CA_BUNDLE, SSL_CERT_DIR, SSL_CERT_FILE | the certificate authorities to trust, if --cacert names none
      NETRC | the file that --netrc reads, instead of ~/.netrc
      COLUMNS | the width of help, if standard output is no terminal
      LC_ALL, LC_CTYPE, LANG | messages are in ASCII if the locale's character set is not UTF-8
      NO_COLOR, TERM | no colours if NO_COLOR is set, or TERM is dumb
      """),
    .heading("files"),
    .paragraph(
      "A store is one SQLite file, by default ~/.cache/cachefetch/store.sqlite, with these beside it:"),
    .items(
      """
      store.sqlite-wal, store.sqlite-shm | SQLite's write-ahead log and its index; -journal where memory cannot be shared
      store.sqlite.lock | locks between processes, and when the store was last tidied
      store.sqlite.key | the secret for the digests of credentials; entries of credentials are lost without it
      store.sqlite.uses, store.sqlite.uses-taken | counts that are not yet in the store
      store.sqlite.tier | counts of what was shared through Redis
      store.sqlite.serve | the socket of serve
      store.sqlite.reserve | 1 MiB, given up when the disk is full
      store.sqlite.damaged-DATE | a damaged store that was moved aside, two at most; .new and .repaired while one is repaired
      """),
  ]

  /// The kinds of failures, as JSON names them.
  private static let kinds =
    "offline, dns, refused, unreachable, disconnected, timeout(…), tls(…), proxy, protocol, truncated, tooLarge, "
    + "tooManyRedirects, status, paused, portal, mediaType, undecodable, signedOut, notStored, cancelled, libraryMissing, "
    + "invalidRequest, store, corrupt, replaced, closed, other"

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
