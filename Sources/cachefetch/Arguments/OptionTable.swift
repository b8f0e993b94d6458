extension Option {
  /// The table: one row an option, in the order help shows them. Whoever adds an option adds it here.
  static let table: [Option] = requestOptions + policyOptions + outputOptions + networkOptions + verbOptions

  private static let requestOptions: [Option] = [
    Option(
      .method, "X", .text, "METHOD", for: .requesting,
      "the method; anything but GET and HEAD passes the store by"),
    Option(.head, "I", for: [.get, .show, .explain], "ask with HEAD and print the head"),
    Option(
      .header, "H", .text, "'N: V'|@FILE", repeats: true, for: .requesting,
      "a field to send; @FILE has one a line, taken byte for byte"),
    Option(
      .data, "d", .text, "TEXT|@FILE|@-", repeats: true, for: .requesting,
      "a body to send, byte for byte; the method becomes POST; several are joined by &"),
    Option(.dataBinary, nil, .text, "TEXT|@FILE|@-", repeats: true, for: .requesting, "the same as --data"),
    Option(.user, "u", .text, "USER:PASSWORD|@FILE", for: .requesting, "Basic credentials; never stored"),
    Option(.read, for: .requesting, "this request only reads: store, share and retry it like GET"),
    Option(
      .account, nil, .account, "NAME", for: .requesting.union(.selecting).union([.signOut, .stats]),
      "whose rows; a name stands in for the credentials, so a renewed token keeps them"),
    Option(
      .key, nil, .text, "KEY", for: .requesting.union(.rm),
      "a name for the row in place of method, URL and body"),
    Option(
      .tag, nil, .tag, "TAG", repeats: true, for: .fetching.union(.selecting),
      "put this label on the row; in list, rm and export: only rows with it"),
    Option(.pin, for: .fetching, "never evict the row"),
  ]

  private static let policyOptions: [Option] = [
    Option(
      .policy, nil, .choice(PolicyChoice.spellings), "POLICY", for: [.get, .explain],
      "stored-then-fresh (default), stored-only, fresh-only, fresh-else-stored or http"),
    Option(.offline, for: [.get, .explain], "the stored answer whatever its age, without the network"),
    Option(
      .maxAge, nil, .duration, "D", for: [.get, .preload, .explain],
      "the stored answer if not older than D, else the fresh one"),
    Option(
      .deadline, nil, .duration, "D", for: [.get, .preload, .explain],
      "the fresh answer if it comes within D, else the stored one"),
    Option(.waitOnline, nil, .duration, "D", for: .get, "go on trying for D while there is no network"),
    Option(.keepAnyway, for: .fetching, "store the answer even where it says no-store"),
  ]

  private static let outputOptions: [Option] = [
    Option(
      .print, nil, .choice(PrintMode.allCases.map(\.rawValue)), "WHAT", for: .get,
      "both (default), stored, fresh, last, changed or none"),
    Option(
      .ignorePath, nil, .text, "POINTER", repeats: true, for: [.get, .preload, .watch, .diff],
      "compare as JSON, but for what this JSON Pointer names"),
    Option(.include, "i", for: [.get, .show], "print the head before the body"),
    Option(
      .json, for: [.get, .preload, .watch, .explain, .list, .stats, .doctor],
      "JSON Lines, one object a delivery or row"),
    Option(
      .output, "o", .file, "FILE", for: [.get, .show],
      "write the body to FILE, replaced as a whole; - is standard output, a terminal too"),
    Option(
      .fail, "f", for: [.get, .preload, .watch],
      "exit with 22 and print no body where the status is 400 or more"),
    Option(.quiet, "q", for: .all, "say nothing on standard error but usage errors"),
    Option(.verbose, "v", for: .storing, "say on standard error what is done and why"),
  ]

  private static let networkOptions: [Option] = [
    Option(.noLocation, for: .fetching, "do not follow redirects"),
    Option(.background, for: .get, "print the stored answer and leave the refresh to a process of its own"),
    Option(
      .parallel, nil, .count(1...1000), "N", for: [.get, .preload], "how many loads to have under way at once"
    ),
    Option(.connectTimeout, nil, .duration, "D", for: .fetching, "for making a connection (5s)"),
    Option(.timeout, "m", .duration, "D", for: .fetching, "for the whole load, retries included (10m)"),
    Option(
      .retry, nil, .count(0...100), "N", for: .fetching, "how often to try again after a passing failure (2)"),
    Option(.maxBody, nil, .size, "SIZE", for: .fetching, "the largest body taken from the network (256M)"),
    Option(.proxy, "x", .text, "URL", for: .fetching, "the proxy, in place of the environment's"),
    Option(.cacert, nil, .file, "FILE", for: .fetching, "certificate authorities to trust, in PEM"),
    Option(.cert, nil, .file, "FILE", for: .fetching, "the client certificate, in PEM"),
    Option(.keyFile, nil, .file, "FILE", for: .fetching, "the client certificate's key, in PEM"),
    Option(.insecure, "k", for: .requesting, "accept any certificate; rows of their own"),
    Option(
      .resolve, nil, .text, "HOST:PORT:ADDRESS", repeats: true, for: .requesting,
      "connect there for that host; rows of their own"),
    Option(
      .unixSocket, nil, .file, "PATH", for: .requesting, "connect through this socket; rows of their own"),
    Option(.http11, for: .fetching, "speak HTTP/1.1 only"),
    Option(.noCompressed, for: .fetching, "do not ask for a compressed answer"),
  ]

  private static let verbOptions: [Option] = [
    Option(
      .store, nil, .file, "PATH", for: .storing,
      "the store ($CACHEFETCH_STORE, else cachefetch/store.sqlite in the user's cache folder)"),
    Option(.every, nil, .duration, "D", for: .watch, "how long to wait between two looks (30s)"),
    Option(.untilChanged, for: .watch, "end with 0 at the first change"),
    Option(
      .onFailure, nil, .text, "ask|retry:N|stored|fail", for: .preload,
      "when answers fail: ask, try them again N times, do with the stored ones (default), or end"
    ),
    Option(.stale, for: .selecting, "only rows that are stale"),
    Option(.olderThan, nil, .duration, "D", for: .selecting, "only rows received longer ago than D"),
    Option(.host, nil, .text, "HOST", for: .selecting, "only rows of this host"),
    Option(.prefix, nil, .text, "URL", for: .selecting, "only rows whose URL begins so"),
    Option(.largerThan, nil, .size, "SIZE", for: .selecting, "only rows with a larger body"),
    Option(
      .sort, nil, .choice(ListOrder.allCases.map(\.rawValue)), "ORDER", for: .list,
      "url (default), age, size or used"),
    Option(.yes, for: [.rm, .signOut], "do not ask"),
    Option(.repair, for: .doctor, "set a damaged store aside and save of it what can be saved"),
    Option(.help, "h", for: .all, "explain the command or the verb"),
    Option(.version, "V", for: .all, "print the versions of cachefetch, SQLite and libcurl"),
  ]

  /// The row of a name.
  static func row(_ name: OptionName) -> Option? { table.first { $0.name == name } }
}

/// In which order `list` shows rows.
enum ListOrder: String, CaseIterable, Sendable { case url, age, size, used }

/// What is printed; never what is done.
enum PrintMode: String, CaseIterable, Sendable { case both, stored, fresh, last, changed, none }
