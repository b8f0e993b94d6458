/// Suggests a known name for an unknown one.
enum Suggestion {
  /// The nearest of `candidates`, if it is close enough to be a typing error: one edit for short names, two or three
  /// for long ones.
  static func nearest(to name: String, among candidates: [String]) -> String? {
    let allowed = max(1, min(3, name.drop { $0 == "-" }.count / 4))
    var best: (name: String, distance: Int)?
    for candidate in candidates {
      let distance = editDistance(Array(name.utf8), Array(candidate.utf8))
      if distance <= allowed, distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    if let best { return best.name }
    // An unambiguous abbreviation.
    let longer = candidates.filter { name.count >= 2 && $0.hasPrefix(name) }
    return longer.count == 1 ? longer[0] : nil
  }

  /// The verb that a word probably means.
  static func verb(_ word: String) -> String? {
    let meant = [
      "remove": "rm", "delete": "rm", "clear": "rm", "purge": "rm", "prune": "rm", "ls": "list",
      "cat": "show",
      "unpin": "unmark --pin", "untag": "unmark --tag TAG", "version": "--version",
    ]
    let near = nearest(to: word, among: Verb.allCases.map(\.rawValue) + meant.keys.sorted())
    return near.map { meant[$0] ?? $0 }
  }

  /// The equivalent here of an option of curl, wget or another program.
  static func foreign(_ option: String) -> String? {
    switch option {
    case "--no-progress-meter": "use -q to suppress messages"
    case "--max-time": "use -m or --timeout"
    case "-b", "--cookie", "-c", "--cookie-jar": "there is no cookie jar; send -H 'Cookie: NAME=VALUE'"
    case "-A", "--user-agent": "use -H 'User-Agent: …'"
    case "-e", "--referer": "use -H 'Referer: …'"
    case "-O", "--remote-name", "-J", "--remote-header-name": "name the file: -o FILE"
    case "-F", "--form", "-T", "--upload-file":
      "forms and uploads are not supported; send a body with -d @FILE"
    case "-r", "--range": "part of a response: use -H 'Range: bytes=FIRST-LAST'"
    case "-C", "--continue-at": "a download that was cut off is resumed by itself when it is asked for again"
    case "-K", "--config": "there is no configuration file; use a shell alias or a script"
    case "-N", "--no-buffer": "a body is printed when it is complete; curl -N shows a stream that never is"
    case "-4", "-6", "--ipv4", "--ipv6": "both are tried; --resolve HOST:PORT:ADDRESS names an address"
    case "--retry-delay", "--retry-max-time": "retries pause as long as they should; use --retry N and -m D"
    case "--retry-connrefused", "--retry-all-errors": "--retry N covers every transient failure"
    case "--http2", "--http2-prior-knowledge", "--http3": "HTTP/2 is used where the server has it"
    case "-0", "--http1.0": "use --http1.1"
    case "--parallel-max": "use --parallel N"
    case "--parallel-immediate": "leave it out"
    case "--netrc-file": "set $NETRC to the file and use -n"
    case "--netrc-optional": "use -n"
    case "--no-cache", "--refresh", "--fresh": "use --policy fresh-only"
    case "--cached", "--stored", "--cache-only", "--only-cached", "--only-if-cached": "use --offline"
    case "--ttl": "use --max-age D"
    case "--stale-if-error": "use --one --stale-ok"
    case "--stale-while-revalidate", "--swr": "use --background, with --max-age D if you like"
    case "--cache", "--cache-dir", "--db", "--database": "use --store PATH"
    case "--interval": "use watch --every D"
    case "--force": "use --yes"
    case "--dry-run": "use list with the same options: it shows what rm would remove"
    case "--exec", "--on-change": "write cachefetch watch --json URL | while read -r change; do …; done"
    case "--last": "use --one, or --print last"
    case "--pretty": "pipe it into jq"
    case "--count": "count the lines of list: | wc -l"
    case "--wait": "use --wait-online D"
    case "--data-raw": "use -d; where the data begin with @, put them into a file and write -d @FILE"
    case "--data-ascii": "use -d"
    case "--url-query": "use -G with --data-urlencode"
    case "--oauth2-bearer", "--bearer": "use -H 'Authorization: Bearer …', or -H @FILE"
    case "--basic": "-u is Basic authentication"
    case "--digest", "--ntlm", "--negotiate", "--anyauth", "-a": "only Basic authentication (-u) is supported"
    case "-E": "use --cert FILE"
    case "--key-type", "--cert-type": "certificate and key are PEM files"
    case "--noproxy": "set $no_proxy"
    case "-U", "--proxy-user": "put user and password into the URL of -x, or into $https_proxy"
    case "--socks5", "--socks5-hostname", "--socks4", "--socks4a": "use -x socks5h://HOST:PORT"
    case "-g", "--globoff": "write brackets and braces percent-encoded: nothing is expanded anyway"
    case "-D", "--dump-header": "use -i, or -I -o FILE"
    case "-R", "--remote-time", "-#", "--progress-bar": "leave it out"
    case "--max-filesize": "use --max-body SIZE"
    case "--max-redirs": "at most 10 redirects are followed; --no-location follows none"
    case "--abstract-unix-socket": "use --unix-socket PATH"
    case "--trace", "--trace-ascii": "use -v"
    case "--fail-early": "use -f and one URL at a time"
    case "--next", "-:": "give each URL with options of its own a command of its own"
    case "--etag-save", "--etag-compare", "-z", "--time-cond":
      "requests are conditional anyway, with what is stored"
    case "--connect-to": "use --resolve HOST:PORT:ADDRESS"
    case "--location-trusted": "credentials stay with the origin they were given for"
    case "--preproxy", "--proxy1.0": "use -x"
    case "--proto", "--proto-default", "--proto-redir": "only http and https are spoken"
    case "--http0.9": "responses older than HTTP/1.0 are refused"
    case "--hsts", "--alt-svc": "leave it out; write https:// where it is wanted"
    case "--limit-rate", "--rate": "there is no limit of speed; --parallel N says how many are under way"
    case "--speed-limit", "-Y", "--speed-time": "use -m or --timeout"
    case "-y": "use --yes where rm asks; for curl's -y use -m"
    case "--capath": "set $SSL_CERT_DIR"
    case "--raw": "use --no-compressed"
    case "--stderr": "write 2> FILE"
    case "--create-dirs": "make the folder first: mkdir -p FOLDER"
    case "--output-dir": "name the folder in -o FOLDER/FILE"
    case "--remote-name-all": "name the file: -o FILE, one URL at a time"
    case "--pass": "the key must have no passphrase"
    case "--quote", "-Q", "--tlsuser", "--tlspassword", "--egd-file", "--random-file": "leave it out"
    default: nil
    }
  }

  /// The remedy for `--json` with a value, as in curl.
  static let jsonBody =
    "--json takes no value here; send JSON with -d DATA -H 'Content-Type: application/json'"

  /// The number of single-byte insertions, removals, replacements and swaps of neighbours between two names.
  static func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var before = [Int](repeating: 0, count: b.count + 1)
    var previous = Array(0...b.count)
    for i in 0..<a.count {
      var current = [i + 1]
      current.reserveCapacity(b.count + 1)
      for j in 0..<b.count {
        var cost = min(previous[j + 1] + 1, current[j] + 1, previous[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
        current.append(cost)
      }
      before = previous
      previous = current
    }
    return previous[b.count]
  }
}
