extension Option {
  /// The table: one row for each option, in the order help shows them.
  static let table: [Option] = OptionName.allCases.map(row)

  /// The row of a letter.
  static func lettered(_ letter: Character) -> Option? {
    OptionName.allCases.lazy.map(row).first { $0.short == letter }
  }

  /// What an option that is part of an entry's key selects.
  private static let selects: [VerbText] = [(.choosing, "only entries stored with this option")]

  /// The row of a name. A new option gets its row here; the order is that of ``OptionName``.
  ///
  /// A function, so that a command line makes the rows it names and no others.
  static func row(_ name: OptionName) -> Option {
    switch name {
    case .one:
      Option(
        name, "1", for: .get,
        "for scripts: print one body, the fresh one, or the stored one if there is no fresh one below status 400; "
          + "never an error page")
    case .staleOK:
      Option(
        name, for: [.get, .preload],
        "exit with 0 instead of 3 if the stored response stands in because of an outage: no answer, 408, 429, 5xx "
          + "or a captive portal")
    case .policy:
      Option(
        name, nil, .choice(PolicyChoice.spellings), "POLICY", for: [.get, .explain],
        "one of stored-then-fresh (default), stored-only, fresh-only, fresh-else-stored, http; see below",
        [
          (
            .explain,
            "explain this policy: stored-then-fresh, stored-only, fresh-only, fresh-else-stored, http"
          )
        ])
    case .offline:
      Option(
        name, for: [.get, .explain], "print the stored response, whatever its age, without using the network",
        [(.explain, "explain --offline")])
    case .maxAge:
      Option(
        name, nil, .duration, "D", for: [.get, .preload, .explain],
        "print the stored response if it is not older than D, else the fresh one",
        [(.preload, "do not fetch what was stored less than D ago"), (.explain, "explain --max-age D")])
    case .deadline:
      Option(
        name, nil, .duration, "D", for: [.get, .preload, .explain],
        "print the fresh response if it arrives within D, else the stored one",
        [(.preload, "stop after D and use what is stored"), (.explain, "explain --deadline D")])
    case .maxStale:
      Option(
        name, nil, .duration, "D", for: .get,
        "never use a stored response that is older than D, not even without a network")
    case .background:
      Option(
        name, for: .get,
        "print the stored response and leave the refresh to a detached process; with --max-age D, only if it is older "
          + "than D")
    case .waitOnline:
      Option(name, nil, .duration, "D", for: .get, "keep trying for D while there is no network")
    case .accept:
      Option(
        name, nil, .text, "TYPE[,TYPE]", repeats: true, for: .fetching,
        "ask for these media types, such as application/json or text/*, and accept no others")
    case .print:
      Option(
        name, nil, .choice(PrintMode.allCases.map(\.rawValue)), "WHAT", for: .get,
        "what to print: both (default), stored, fresh, last, changed (the fresh body if it differs from the stored "
          + "one) or none")
    case .include:
      Option(
        name, "i", for: [.get, .show], "print the response headers before the body",
        [(.show, "print the stored headers, with Age and Cache-Status added, before the body")])
    case .json:
      Option(
        name, for: .storing.subtracting(.completions), "print JSON Lines: one object per delivery",
        [
          (.preload, "print JSON Lines: one object per request"),
          (.watch, "print JSON Lines: one object per change, outage or recovery"),
          ([.diff, .explain, .show, .limits, .export, .import], "print one JSON object"),
          (.list, "print JSON Lines: one object per entry"),
          ([.rm, .unmark, .signOut], "print the count as a JSON object"),
          (.stats, "print JSON Lines: one object per account and host"),
          (.doctor, "print JSON Lines: one object per finding"),
        ])
    case .output:
      Option(
        name, "o", .file, "FILE", for: [.get, .show],
        "write the body to FILE, replaced as a whole; - is standard output, even if it is a terminal")
    case .fail:
      Option(
        name, "f", for: [.get, .preload, .watch],
        "if the status is 400 or more, do not print that body; exit with 3 if a stored one was delivered, else with 22",
        [
          (.preload, "exit with 22, not 3 or 4, if a status is 400 or more"),
          (.watch, "exit with 22 at the first status of 400 or more that is no outage (408, 429, 5xx)"),
        ])
    case .failWithBody:
      Option(name, for: .get, "like --fail, but print the body")
    case .writeOut:
      Option(
        name, "w", .text, "FORMAT|@FILE", for: .get,
        "print this after each URL: %{http_code}, %{printed} and the other variables in the manual")
    case .ignorePath:
      Option(
        name, nil, .text, "POINTER", repeats: true, for: .fetching,
        "compare bodies as JSON and ignore what this JSON Pointer names")
    case .quiet:
      Option(name, "q", for: .all, "suppress progress and all messages except usage errors; -s is the same")
    case .showError:
      Option(name, "S", for: .all, "with -q or -s, report failures all the same")
    case .verbose:
      Option(
        name, "v", for: .storing.subtracting(.completions),
        "say on standard error what is done and why, and show the headers of requests and responses")
    case .method:
      Option(
        name, "X", .text, "METHOD", for: .requesting,
        "request method; methods other than GET and HEAD bypass the store")
    case .head:
      Option(
        name, "I", for: [.get, .show, .explain], "send HEAD and print the headers",
        [(.show, "print the stored headers only"), (.explain, "explain the request with the method HEAD")])
    case .header:
      Option(
        name, "H", .text, "'N: V'|@FILE", repeats: true, for: .requesting.union(.choosing),
        "add a request header; @FILE holds one per line, taken byte for byte",
        [(.choosing, "with --exact: only the entry for this request header")])
    case .data:
      Option(
        name, "d", .text, "TEXT|@FILE|@-", repeats: true, for: .requesting,
        "send a body, byte for byte; the method becomes POST; several are joined by &")
    case .dataBinary:
      Option(name, nil, .text, "TEXT|@FILE|@-", repeats: true, for: .requesting, "same as --data")
    case .dataURLEncode:
      Option(
        name, nil, .text, "DATA", repeats: true, for: .requesting,
        "as --data, URL-encoded: CONTENT, =CONTENT, NAME=CONTENT, @FILE or NAME@FILE")
    case .asQuery:
      Option(
        name, "G", for: .requesting.subtracting(.preload),
        "put the data of -d and --data-urlencode into the URL's query, and use GET")
    case .read:
      Option(
        name, for: .requesting, "the request only reads, whatever its method: store and retry it like a GET")
    case .key:
      Option(
        name, nil, .text, "KEY", for: .requesting.union(.choosing),
        "store the response under this key instead of method, URL and body",
        [(.choosing, "only entries stored under this key")])
    case .noLocation:
      Option(
        name, for: .requesting.union(.choosing),
        "do not follow redirects; such responses are stored separately", selects)
    case .account:
      Option(
        name, nil, .account, "NAME", for: .requesting.union(.selecting).union([.signOut, .stats, .import]),
        "whose entries to use: NAME stands for the credentials in the key, so that a new token finds the same entries",
        [
          (.selecting, "only entries of this account"),
          (.import, "import the entries of this account, and no others"),
          (.signOut, "the account to erase"), (.stats, "only the figures of this account"),
        ])
    case .user:
      Option(
        name, "u", .text, "USER:PASSWORD|@FILE", for: .requesting,
        "Basic authentication; the credentials are never stored")
    case .netrc:
      Option(
        name, "n", for: .requesting,
        "take user and password for the URL's host from $NETRC, else ~/.netrc; never stored")
    case .cert:
      Option(
        name, nil, .file, "FILE", for: .requesting,
        "client certificate, in PEM: a credential, with entries of its own")
    case .keyFile:
      Option(name, nil, .file, "FILE", for: .requesting, "private key of the client certificate, in PEM")
    case .secretField:
      Option(
        name, nil, .text, "NAME", repeats: true, for: .requesting,
        "this header is a credential: entries of its own, never written, never sent to another host")
    case .secretParameter:
      Option(
        name, nil, .text, "NAME", repeats: true, for: .requesting.union(.choosing),
        "this query parameter is a secret: never written, never shown")
    case .parallel:
      Option(
        name, "Z", .count(1...1000), "N", for: [.get, .preload],
        "maximum number of concurrent transfers (default: 50, and 6 per server that does not speak HTTP/2)")
    case .connectTimeout:
      Option(name, nil, .duration, "D", for: .fetching, "time limit for making a connection (default: 5s)")
    case .timeout:
      Option(
        name, "m", .duration, "D", for: .fetching,
        "time limit for the whole transfer, retries included (default: 10m, the first byte within 30s)")
    case .retry:
      Option(
        name, nil, .count(0...100), "N", for: .fetching,
        "number of retries after a transient failure (default: 2)")
    case .maxBody:
      Option(
        name, nil, .size, "SIZE", for: .fetching, "largest body accepted from the network (default: 256M)")
    case .proxy:
      Option(name, "x", .text, "URL", for: .requesting, "use this proxy instead of the environment's")
    case .cacert:
      Option(
        name, nil, .file, "FILE", for: .requesting.union(.choosing),
        "trust the certificate authorities in this PEM file; https responses are stored separately", selects)
    case .insecure:
      Option(
        name, "k", for: .requesting.union(.choosing),
        "skip certificate checks; https responses are stored separately", selects)
    case .resolve:
      Option(
        name, nil, .text, "HOST:PORT:ADDRESS", repeats: true, for: .requesting.union(.choosing),
        "connect to ADDRESS for that host and port; such responses are stored separately", selects)
    case .unixSocket:
      Option(
        name, nil, .file, "PATH", for: .requesting.union(.choosing),
        "connect through this Unix socket; such responses are stored separately", selects)
    case .http11:
      Option(name, for: .fetching, "use HTTP/1.1 only")
    case .noCompressed:
      Option(name, for: .fetching, "do not ask for a compressed response")
    case .noSandbox:
      Option(name, for: .fetching, "do not confine the command to the files that it needs")
    case .store:
      Option(
        name, nil, .file, "PATH", for: .storing,
        "the store (default: $CACHEFETCH_STORE, else cachefetch/store.sqlite in the user's cache folder)")
    case .pin:
      Option(
        name, for: .fetching.union(.unmark), "never evict the entry", [(.unmark, "allow eviction again")])
    case .tag:
      Option(
        name, nil, .tag, "TAG", repeats: true, for: .fetching.union(.selecting),
        "label the entry with TAG, for list, rm and export",
        [(.unmark, "remove this tag"), (.selecting, "only entries labelled with TAG")])
    case .keepAnyway:
      Option(name, for: .fetching, "store the response even if it says no-store")
    case .tier:
      Option(
        name, nil, .tier, "URL", for: .fetching.union([.explain, .rm, .signOut, .doctor]),
        "share responses with other machines through this Redis server (redis://…; see help tier)",
        [(.rm, "the Redis server of --fleet"), (.doctor, "check this Redis server too")])
    case .noTier:
      Option(
        name, for: .fetching.union([.explain, .signOut, .doctor]),
        "leave the Redis server of $CACHEFETCH_TIER alone")
    case .stale:
      Option(
        name, for: .selecting, "only entries that RFC 9111 calls stale: past their lifetime, or without one")
    case .olderThan:
      Option(
        name, nil, .duration, "D", for: .selecting.union(.limits), "only entries received more than D ago",
        [(.limits, "remove entries received more than D ago; none lifts this limit")])
    case .host:
      Option(name, nil, .text, "HOST", for: .selecting, "only entries of this host")
    case .prefix:
      Option(name, nil, .text, "URL", for: .selecting, "only entries whose URL starts with this")
    case .largerThan:
      Option(name, nil, .size, "SIZE", for: .selecting, "only entries with a larger body")
    case .status:
      Option(
        name, nil, .text, "STATUS", for: .selecting, "only entries with this status: 404, 4xx or 200-299")
    case .type:
      Option(
        name, nil, .text, "TYPE", for: .selecting, "only entries of this media type: text/html or image/*")
    case .exact:
      Option(
        name, for: .choosing, "only the entry that show prints with the same options, not others of the URL")
    case .every:
      Option(
        name, nil, .duration, "D", for: .watch,
        "interval between checks (default: 30s, or as long as the response stays fresh, up to 1h)")
    case .untilChanged:
      Option(name, for: .watch, "exit with 0 at the first change")
    case .onFailure:
      Option(
        name, nil, .text, "ask|retry:N|stored|fail", for: .preload,
        "if requests fail: ask, retry:N (try again N times), stored (use what is stored; default) or fail (stop)"
      )
    case .sort:
      Option(
        name, nil, .choice(ListOrder.allCases.map(\.rawValue)), "ORDER", for: .list,
        "sort by url (default), age, size or used")
    case .reverse:
      Option(name, for: .list, "reverse the order")
    case .limit:
      Option(name, nil, .count(1...1_000_000_000), "N", for: .list, "show only the first N entries")
    case .bytes:
      Option(
        name, nil, .size, "SIZE", for: .limits,
        "maximum size of the store's file (default: 2G); none lifts this limit")
    case .rows:
      Option(
        name, nil, .count(1...1_000_000_000), "N", for: .limits,
        "maximum number of entries; none lifts this limit")
    case .pause:
      Option(
        name, nil, .text, "HOST", for: .rm,
        "remove no entries, but end the pause that this host has asked for (Retry-After)")
    case .fleet:
      Option(name, for: .rm, "remove the entries from the Redis server of --tier as well")
    case .yes:
      Option(name, for: [.rm, .signOut], "do not ask before several entries are removed")
    case .repair:
      Option(name, for: .doctor, "move a damaged store aside and recover what is readable")
    case .newFleetKey:
      Option(name, for: .doctor, "print a new key for the key file of --tier, and check nothing")
    case .help:
      Option(name, "h", for: .all, "show help for the command or the verb")
    case .version:
      Option(name, "V", for: .all, "show the versions of cachefetch, SQLite and libcurl")
    }
  }
}

/// The order in which `list` shows rows.
enum ListOrder: String, CaseIterable, Sendable { case url, age, size, used }

/// Which deliveries are printed; the loads do not depend on it.
enum PrintMode: String, CaseIterable, Sendable { case both, stored, fresh, last, changed, none }
