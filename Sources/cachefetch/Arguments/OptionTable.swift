extension Option {
  /// The table: one row an option, in the order help shows them.
  static let table: [Option] = OptionName.allCases.map(row)

  /// The row of a name. Whoever adds an option adds it here; the order is that of ``OptionName``.
  ///
  /// A function, so that a command line makes the rows it names and no others.
  static func row(_ name: OptionName) -> Option {
    switch name {
    case .method:
      Option(
        name, "X", .text, "METHOD", for: .requesting,
        "the method; anything but GET and HEAD passes the store by")
    case .head:
      Option(
        name, "I", for: [.get, .show, .explain], "ask with HEAD and print the head")
    case .header:
      Option(
        name, "H", .text, "'N: V'|@FILE", repeats: true, for: .requesting,
        "a field to send; @FILE has one a line, taken byte for byte")
    case .data:
      Option(
        name, "d", .text, "TEXT|@FILE|@-", repeats: true, for: .requesting,
        "a body to send, byte for byte; the method becomes POST; several are joined by &")
    case .dataBinary:
      Option(
        name, nil, .text, "TEXT|@FILE|@-", repeats: true, for: .requesting, "the same as --data")
    case .user:
      Option(
        name, "u", .text, "USER:PASSWORD|@FILE", for: .requesting, "Basic credentials; never stored")
    case .read:
      Option(
        name, for: .requesting, "this request only reads: store, share and retry it like GET")
    case .account:
      Option(
        name, nil, .account, "NAME", for: .requesting.union(.selecting).union([.signOut, .stats]),
        "whose rows; a name stands in for the credentials, so a renewed token keeps them")
    case .key:
      Option(
        name, nil, .text, "KEY", for: .requesting.union(.rm),
        "a name for the row in place of method, URL and body")
    case .tag:
      Option(
        name, nil, .tag, "TAG", repeats: true, for: .fetching.union(.selecting),
        "put this label on the row; in list, rm and export: only rows with it")
    case .pin:
      Option(
        name, for: .fetching, "never evict the row")
    case .policy:
      Option(
        name, nil, .choice(PolicyChoice.spellings), "POLICY", for: [.get, .explain],
        "stored-then-fresh (default), stored-only, fresh-only, fresh-else-stored or http")
    case .offline:
      Option(
        name, for: [.get, .explain], "the stored answer whatever its age, without the network")
    case .maxAge:
      Option(
        name, nil, .duration, "D", for: [.get, .preload, .explain],
        "the stored answer if not older than D, else the fresh one")
    case .deadline:
      Option(
        name, nil, .duration, "D", for: [.get, .preload, .explain],
        "the fresh answer if it comes within D, else the stored one")
    case .waitOnline:
      Option(
        name, nil, .duration, "D", for: .get, "go on trying for D while there is no network")
    case .keepAnyway:
      Option(
        name, for: .fetching, "store the answer even where it says no-store")
    case .print:
      Option(
        name, nil, .choice(PrintMode.allCases.map(\.rawValue)), "WHAT", for: .get,
        "both (default), stored, fresh, last, changed or none")
    case .ignorePath:
      Option(
        name, nil, .text, "POINTER", repeats: true, for: [.get, .preload, .watch, .diff],
        "compare as JSON, but for what this JSON Pointer names")
    case .include:
      Option(
        name, "i", for: [.get, .show], "print the head before the body")
    case .json:
      Option(
        name, for: [.get, .preload, .watch, .explain, .list, .stats, .doctor],
        "JSON Lines, one object a delivery or row")
    case .output:
      Option(
        name, "o", .file, "FILE", for: [.get, .show],
        "write the body to FILE, replaced as a whole; - is standard output, a terminal too")
    case .fail:
      Option(
        name, "f", for: [.get, .preload, .watch],
        "exit with 22 and print no body where the status is 400 or more")
    case .quiet:
      Option(
        name, "q", for: .all, "say nothing on standard error but usage errors")
    case .verbose:
      Option(
        name, "v", for: .storing, "say on standard error what is done and why")
    case .noLocation:
      Option(
        name, for: .fetching, "do not follow redirects")
    case .background:
      Option(
        name, for: .get, "print the stored answer and leave the refresh to a process of its own")
    case .parallel:
      Option(
        name, nil, .count(1...1000), "N", for: [.get, .preload], "how many loads to have under way at once"
      )
    case .connectTimeout:
      Option(
        name, nil, .duration, "D", for: .fetching, "for making a connection (5s)")
    case .timeout:
      Option(
        name, "m", .duration, "D", for: .fetching, "for the whole load, retries included (10m)")
    case .retry:
      Option(
        name, nil, .count(0...100), "N", for: .fetching, "how often to try again after a passing failure (2)")
    case .maxBody:
      Option(
        name, nil, .size, "SIZE", for: .fetching, "the largest body taken from the network (256M)")
    case .proxy:
      Option(
        name, "x", .text, "URL", for: .fetching, "the proxy, in place of the environment's")
    case .cacert:
      Option(
        name, nil, .file, "FILE", for: .fetching, "certificate authorities to trust, in PEM")
    case .cert:
      Option(
        name, nil, .file, "FILE", for: .fetching, "the client certificate, in PEM")
    case .keyFile:
      Option(
        name, nil, .file, "FILE", for: .fetching, "the client certificate's key, in PEM")
    case .insecure:
      Option(
        name, "k", for: .requesting, "accept any certificate; rows of their own")
    case .resolve:
      Option(
        name, nil, .text, "HOST:PORT:ADDRESS", repeats: true, for: .requesting,
        "connect there for that host; rows of their own")
    case .unixSocket:
      Option(
        name, nil, .file, "PATH", for: .requesting, "connect through this socket; rows of their own")
    case .http11:
      Option(
        name, for: .fetching, "speak HTTP/1.1 only")
    case .noCompressed:
      Option(
        name, for: .fetching, "do not ask for a compressed answer")
    case .store:
      Option(
        name, nil, .file, "PATH", for: .storing,
        "the store ($CACHEFETCH_STORE, else cachefetch/store.sqlite in the user's cache folder)")
    case .every:
      Option(
        name, nil, .duration, "D", for: .watch, "how long to wait between two looks (30s)")
    case .untilChanged:
      Option(
        name, for: .watch, "end with 0 at the first change")
    case .onFailure:
      Option(
        name, nil, .text, "ask|retry:N|stored|fail", for: .preload,
        "when answers fail: ask, try them again N times, do with the stored ones (default), or end"
      )
    case .stale:
      Option(
        name, for: .selecting, "only rows that are stale")
    case .olderThan:
      Option(
        name, nil, .duration, "D", for: .selecting, "only rows received longer ago than D")
    case .host:
      Option(
        name, nil, .text, "HOST", for: .selecting, "only rows of this host")
    case .prefix:
      Option(
        name, nil, .text, "URL", for: .selecting, "only rows whose URL begins so")
    case .largerThan:
      Option(
        name, nil, .size, "SIZE", for: .selecting, "only rows with a larger body")
    case .sort:
      Option(
        name, nil, .choice(ListOrder.allCases.map(\.rawValue)), "ORDER", for: .list,
        "url (default), age, size or used")
    case .yes:
      Option(
        name, for: [.rm, .signOut], "do not ask")
    case .repair:
      Option(
        name, for: .doctor, "set a damaged store aside and save of it what can be saved")
    case .help:
      Option(
        name, "h", for: .all, "explain the command or the verb")
    case .version:
      Option(
        name, "V", for: .all, "print the versions of cachefetch, SQLite and libcurl")
    }
  }
}

/// In which order `list` shows rows.
enum ListOrder: String, CaseIterable, Sendable { case url, age, size, used }

/// What is printed; never what is done.
enum PrintMode: String, CaseIterable, Sendable { case both, stored, fresh, last, changed, none }
