extension Option {
  /// The table: one row for each option, in the order help shows them.
  static let table: [Option] = OptionName.allCases.map(row)

  /// The row of a letter.
  static func lettered(_ letter: Character) -> Option? {
    OptionName.allCases.lazy.map(row).first { $0.short == letter }
  }

  /// The row of a name. A new option gets its row here, and its text below; the order is that of ``OptionName``.
  ///
  /// A function, so that a command line makes the rows it names and no others.
  static func row(_ name: OptionName) -> Option {
    switch name {
    case .one: Option(name, "1", for: .get)
    case .staleOK: Option(name, for: [.get, .preload])
    case .policy: Option(name, nil, .choice(PolicyChoice.spellings), "POLICY", for: [.get, .explain])
    case .offline: Option(name, for: [.get, .explain])
    case .maxAge: Option(name, nil, .duration, "D", for: [.get, .preload, .explain])
    case .deadline: Option(name, nil, .duration, "D", for: [.get, .preload, .explain])
    case .maxStale: Option(name, nil, .duration, "D", for: .get)
    case .background: Option(name, for: .get)
    case .waitOnline: Option(name, nil, .duration, "D", for: .get)
    case .accept: Option(name, nil, .text, "TYPE[,TYPE]", repeats: true, for: .fetching)
    case .print: Option(name, nil, .choice(PrintMode.allCases.map(\.rawValue)), "WHAT", for: .get)
    case .include: Option(name, "i", for: [.get, .show])
    case .json: Option(name, for: .storing.subtracting([.completions, .report, .serve]))
    case .output: Option(name, "o", .file, "FILE", for: [.get, .show, .report])
    case .fail: Option(name, "f", for: [.get, .preload, .watch])
    case .failWithBody: Option(name, for: .get)
    case .writeOut: Option(name, "w", .text, "FORMAT|@FILE", for: .get)
    case .ignorePath: Option(name, nil, .text, "POINTER", repeats: true, for: .fetching)
    case .quiet: Option(name, "q", for: .all)
    case .showError: Option(name, "S", for: .all)
    case .verbose: Option(name, "v", for: .storing.subtracting(.completions))
    case .method: Option(name, "X", .text, "METHOD", for: .requesting)
    case .head: Option(name, "I", for: [.get, .show, .explain])
    case .header: Option(name, "H", .text, "'N: V'|@FILE", repeats: true, for: .requesting.union(.choosing))
    case .data: Option(name, "d", .text, "TEXT|@FILE|@-", repeats: true, for: .requesting)
    case .dataBinary: Option(name, nil, .text, "TEXT|@FILE|@-", repeats: true, for: .requesting)
    case .dataURLEncode: Option(name, nil, .text, "DATA", repeats: true, for: .requesting)
    case .asQuery: Option(name, "G", for: .requesting.subtracting(.preload))
    case .read: Option(name, for: .requesting)
    case .key: Option(name, nil, .text, "KEY", for: .requesting.union(.choosing))
    case .noLocation: Option(name, for: .requesting.union(.choosing))
    case .account:
      Option(
        name, nil, .account, "NAME", for: .requesting.union(.selecting).union([.signOut, .stats, .import]))
    case .user: Option(name, "u", .text, "USER:PASSWORD|@FILE", for: .requesting)
    case .netrc: Option(name, "n", for: .requesting)
    case .cert: Option(name, nil, .file, "FILE", for: .reaching)
    case .keyFile: Option(name, nil, .file, "FILE", for: .reaching)
    case .secretField: Option(name, nil, .text, "NAME", repeats: true, for: .reaching)
    case .secretParameter: Option(name, nil, .text, "NAME", repeats: true, for: .reaching.union(.choosing))
    case .parallel: Option(name, "Z", .count(1...1000), "N", for: [.get, .preload])
    case .connectTimeout: Option(name, nil, .duration, "D", for: .fetching)
    case .timeout: Option(name, "m", .duration, "D", for: .fetching)
    case .retry: Option(name, nil, .count(0...100), "N", for: .fetching)
    case .maxBody: Option(name, nil, .size, "SIZE", for: .fetching)
    case .proxy: Option(name, "x", .text, "URL", for: .reaching)
    case .cacert: Option(name, nil, .file, "FILE", for: .reaching.union(.choosing))
    case .insecure: Option(name, "k", for: .reaching.union(.choosing))
    case .resolve:
      Option(name, nil, .text, "HOST:PORT:ADDRESS", repeats: true, for: .reaching.union(.choosing))
    case .unixSocket: Option(name, nil, .file, "PATH", for: .requesting.union(.choosing))
    case .http11: Option(name, for: .fetching)
    case .noCompressed: Option(name, for: .fetching)
    case .noSandbox: Option(name, for: .fetching.union(.serve))
    case .store: Option(name, nil, .file, "PATH", for: .storing)
    case .pin: Option(name, for: .fetching.union(.unmark))
    case .tag: Option(name, nil, .tag, "TAG", repeats: true, for: .fetching.union(.selecting))
    case .keepAnyway: Option(name, for: .fetching)
    case .tier:
      Option(name, nil, .tier, "URL", for: .fetching.union([.serve, .explain, .rm, .signOut, .doctor]))
    case .noTier: Option(name, for: .fetching.union([.serve, .explain, .signOut, .doctor]))
    case .stale: Option(name, for: .selecting)
    case .olderThan: Option(name, nil, .duration, "D", for: .selecting.union(.limits))
    case .host: Option(name, nil, .text, "HOST", for: .selecting)
    case .prefix: Option(name, nil, .text, "URL", for: .selecting)
    case .largerThan: Option(name, nil, .size, "SIZE", for: .selecting)
    case .status: Option(name, nil, .text, "STATUS", for: .selecting)
    case .type: Option(name, nil, .text, "TYPE", for: .selecting)
    case .exact: Option(name, for: .choosing)
    case .idle: Option(name, nil, .duration, "D", for: .serve)
    case .every: Option(name, nil, .duration, "D", for: .watch)
    case .untilChanged: Option(name, for: .watch)
    case .onFailure: Option(name, nil, .text, "ask|retry:N|stored|fail", for: .preload)
    case .sort: Option(name, nil, .choice(ListOrder.allCases.map(\.rawValue)), "ORDER", for: .list)
    case .reverse: Option(name, for: .list)
    case .limit: Option(name, nil, .count(1...1_000_000_000), "N", for: .list)
    case .bodies: Option(name, for: .report)
    case .bytes: Option(name, nil, .size, "SIZE", for: .limits)
    case .rows: Option(name, nil, .count(1...1_000_000_000), "N", for: .limits)
    case .pause: Option(name, nil, .text, "HOST", for: .rm)
    case .fleet: Option(name, for: .rm)
    case .yes: Option(name, for: [.rm, .signOut])
    case .prometheus: Option(name, for: .stats)
    case .repair: Option(name, for: .doctor)
    case .newFleetKey: Option(name, for: .doctor)
    case .help: Option(name, "h", for: .all)
    case .version: Option(name, "V", for: .all)
    }
  }

  /// The help texts: `NAME VERB… | text` for some verbs, and then `NAME | text` for the others.
  static let texts = NamedText.lines(
    """
    one | for scripts: print one body: fresh below status 400, else the stored one, else nothing; with --json or -o only the status changes
    stale-ok | exit with 0 instead of 3 if the stored response stands in because of an outage: no answer, 408, 429, 5xx or a captive portal
    policy explain | explain this policy: stored-then-fresh, stored-only, fresh-only, fresh-else-stored, http
    policy | one of stored-then-fresh (default), stored-only, fresh-only, fresh-else-stored, http; see below
    offline explain | explain --offline
    offline | print the stored response, whatever its age, without using the network
    max-age preload | do not fetch what was stored less than D ago
    max-age explain | explain --max-age D
    max-age | print the stored response if it is not older than D, else the fresh one
    deadline preload | stop after D and use what is stored
    deadline explain | explain --deadline D
    deadline | print the fresh response if it arrives within D, else the stored one
    max-stale | never use a stored response that is older than D, not even without a network
    background | print the stored response and leave the refresh to a detached process; with --max-age D, only if it is older than D
    wait-online | keep trying for D while there is no network
    accept | ask for these media types, such as application/json or text/*, and accept no others
    print | what to print: both (default), stored, fresh, last, changed (the fresh body if it differs from the stored one) or none
    include show | print the stored headers, with Age and Cache-Status added, before the body
    include | print the response headers before the body
    json preload | print JSON Lines: one object per request
    json watch | print JSON Lines: one object per change, outage or recovery
    json diff explain show limits export import | print one JSON object
    json list | print JSON Lines: one object per entry
    json rm unmark sign-out | print the count as a JSON object
    json stats | print JSON Lines: one object per account and host
    json doctor | print JSON Lines: one object per finding
    json | print JSON Lines: one object per delivery
    output report | write the page to FILE, replaced as a whole and readable by you alone; - is standard output
    output | write the body to FILE, replaced as a whole; - is standard output, even if it is a terminal
    fail preload | exit with 22, not 4, if a status of 400 or more is all there was
    fail watch | exit with 22 at the first status of 400 or more that is no outage (408, 429, 5xx)
    fail | if the status is 400 or more, do not print that body; exit with 3 if a stored one was delivered, else with 22
    fail-with-body | like --fail, but print the body
    write-out | print this after each URL: %{http_code}, %{printed} and the other variables in the manual
    ignore-path | compare bodies as JSON and ignore what this JSON Pointer names
    quiet | suppress progress and all messages except usage errors; -s is the same
    show-error | with -q or -s, report failures all the same
    verbose | say on standard error what is done and why, and show the headers of requests and responses
    request | request method; methods other than GET and HEAD bypass the store
    head show | print the stored headers only
    head explain | explain the request with the method HEAD
    head | send HEAD and print the headers
    header rm unmark | with --exact: only the entry for this request header
    header | add a request header; @FILE holds one per line, taken byte for byte
    data | send a body, byte for byte; the method becomes POST; several are joined by &
    data-binary | same as --data
    data-urlencode | as --data, URL-encoded: CONTENT, =CONTENT, NAME=CONTENT, @FILE or NAME@FILE
    get | put the data of -d and --data-urlencode into the URL's query, and use GET
    read | the request only reads, whatever its method: store and retry it like a GET
    key rm unmark | only entries stored under this key
    key | store the response under this key instead of method, URL and body
    no-location rm unmark | only entries stored with this option
    no-location | do not follow redirects; such responses are stored separately
    account list rm unmark export report | only entries of this account
    account import | import the entries of this account, and no others
    account sign-out | the account to erase
    account stats | only the figures of this account
    account | whose entries to use: NAME stands for the credentials in the key, so that a new token finds the same entries
    user | Basic authentication; the credentials are never stored
    netrc | take user and password for the URL's host from $NETRC, else ~/.netrc; never stored
    cert | client certificate, in PEM: a credential, with entries of its own
    key-file | private key of the client certificate, in PEM
    secret-field | this header is a credential: entries of its own, never written, never sent to another host
    secret-parameter | this query parameter is a secret: never written, never shown
    parallel | maximum number of concurrent transfers (default: 50, and 6 per server that does not speak HTTP/2)
    connect-timeout | time limit for making a connection (default: 5s)
    timeout | time limit for the whole transfer, retries included (default: 10m, the first byte within 30s)
    retry | number of retries after a transient failure (default: 2)
    max-body | largest body accepted from the network (default: 256M)
    proxy | use this proxy instead of the environment's
    cacert rm unmark | only entries stored with this option
    cacert | trust the certificate authorities in this PEM file; https responses are stored separately
    insecure rm unmark | only entries stored with this option
    insecure | skip certificate checks; https responses are stored separately
    resolve rm unmark | only entries stored with this option
    resolve | connect to ADDRESS for that host and port; such responses are stored separately
    unix-socket rm unmark | only entries stored with this option
    unix-socket | connect through this Unix socket; such responses are stored separately
    http1.1 | use HTTP/1.1 only
    no-compressed | do not ask for a compressed response
    no-sandbox | do not confine the command to the files that it needs
    store | the store (default: $CACHEFETCH_STORE, else cachefetch/store.sqlite in the user's cache folder)
    pin unmark | allow eviction again
    pin | never evict the entry
    tag unmark | remove this tag
    tag list rm unmark export report | only entries labelled with TAG
    tag | label the entry with TAG, for list, rm and export
    keep-anyway | store the response even if it says no-store
    tier rm | the Redis server of --fleet
    tier doctor | check this Redis server too
    tier | share responses with other machines through this Redis server (redis://…; see help tier)
    no-tier | leave the Redis server of $CACHEFETCH_TIER alone
    stale | only entries that RFC 9111 calls stale: past their lifetime, or without one
    older-than limits | remove entries received more than D ago; none lifts this limit
    older-than | only entries received more than D ago
    host | only entries of this host
    prefix | only entries whose URL starts with this
    larger-than | only entries with a larger body
    status | only entries with this status: 404, 4xx or 200-299
    type | only entries of this media type: text/html or image/*
    exact | only the entry that show prints with the same options, not others of the URL
    idle | end after D without a request (default: 10m); 0 never ends it
    every | interval between checks (default: 30s, or as long as the response stays fresh, up to 1h)
    until-changed | exit with 0 at the first change
    on-failure | if requests fail: ask, retry:N (try again N times), stored (use what is stored; default) or fail (stop)
    sort | sort by url (default), age, size or used
    reverse | reverse the order
    limit | show only the first N entries
    bodies | hold the bodies of accounts as well
    bytes | maximum size of the store's file (default: 2G); none lifts this limit
    rows | maximum number of entries; none lifts this limit
    pause | remove no entries, but end the pause that this host has asked for (Retry-After)
    fleet | remove the entries from the Redis server of --tier as well
    yes | do not ask before several entries are removed
    repair | move a damaged store aside and recover what is readable
    prometheus | print metrics in the text format of Prometheus, for a text-file collector
    new-fleet-key | print a new key for the key file of --tier, and check nothing
    help | show help for the command or the verb
    version | show the versions of cachefetch, SQLite and libcurl
    """
  ).map { (words: $0.name.split(separator: " "), text: $0.text) }
}

/// The order in which `list` shows rows.
enum ListOrder: String, CaseIterable, Sendable { case url, age, size, used }

/// Which deliveries are printed; the loads do not depend on it.
enum PrintMode: String, CaseIterable, Sendable { case both, stored, fresh, last, changed, none }
