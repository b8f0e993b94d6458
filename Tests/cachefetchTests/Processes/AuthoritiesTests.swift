import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// Whom the command trusts, in a mount namespace in which `/etc/ssl/certs` is the test's. curl in the same place says what
/// is right.
@Suite("Command: the system's certificate authorities", .inTurn) struct AuthoritiesTests {
  /// nginx with a certificate of our authority for two hosts, an expired one, and one of another authority.
  private struct Site {
    let ours: TestCertificates
    let others: TestCertificates
    let nginx: NginxServer
    static let hosts = ["good.test", "wrong.test", "expired.test", "unknown.test"]

    /// - Parameter content: What makes the answers; by default the request's method.
    init(content: String = "return 200 \"$request_method of $host\";") async throws {
      (ours, others) = (try TestCertificates(), try TestCertificates())
      try await ours.makeAuthority(named: "Ours")
      try await others.makeAuthority(named: "Another")
      try await ours.make("good", host: "good.test")
      try await ours.make("expired", host: "expired.test", days: -1)
      try await others.make("unknown", host: "unknown.test")
      func server(_ host: String, _ directives: String) -> String {
        """
        server { listen 127.0.0.1:$PORT ssl; server_name \(host); \(directives)
          location / { \(content) } }

        """
      }
      nginx = try NginxServer(
        server: "\(ours.directives("good")) server_name unused.test;",
        http: server("good.test", ours.directives("good")) + server("wrong.test", ours.directives("good"))
          + server("expired.test", ours.directives("expired"))
          + server("unknown.test", others.directives("unknown")),
        listen: "ssl")
    }
  }

  /// A folder to stand at `/etc/ssl/certs`.
  private struct Place {
    let folder: TemporaryFolder
    /// - Parameters:
    ///   - linked: The authorities with a link by hash.
    ///   - bundled: The authorities in the bundle.
    init(linked: [String], bundled: [String]) async throws {
      folder = try TemporaryFolder()
      let certificates = try bundled.map { try String(contentsOfFile: $0, encoding: .utf8) }
      try folder.write(certificates.joined().utf8, to: "ca-certificates.crt")
      for (number, file) in linked.enumerated() {
        try folder.write(try Data(contentsOf: URL(filePath: file)), to: "\(number).pem")
      }
      if !linked.isEmpty {
        let run = try await ChildProcess.run("/usr/bin/openssl", ["rehash", folder.path])
        try #require(run.status == 0, "\(run.errorText)")
      }
    }

    /// As Debian's own tool fills it, with one authority of this machine's.
    init(updatedWith authority: String) async throws {
      folder = try TemporaryFolder()
      let (local, none) = (try TemporaryFolder(), try TemporaryFolder())
      try local.write(try Data(contentsOf: URL(filePath: authority)), to: "ours.crt")
      let run = try await ChildProcess.run(
        "/usr/sbin/update-ca-certificates",
        [
          "--localcertsdir", local.path, "--certsdir", none.path, "--hooksdir", none.path,
          "--certsconf", "/dev/null", "--etccertsdir", folder.path,
        ])
      try #require(run.status == 0, "\(run.errorText)\(run.outputText)")
      // Its links lead to the folder of this machine's authorities, which goes away.
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name == "ours.pem" {
        unlink(folder.file(name))
        try folder.write(try Data(contentsOf: URL(filePath: authority)), to: name)
      }
    }

    /// Runs a program where the system's authorities are those of this folder.
    func run(_ program: String, _ words: [String], _ environment: [String: String?]) async throws
      -> ChildProcess.Finished
    {
      try await ChildProcess.run(
        "/usr/bin/unshare",
        ["-m", "sh", "-c", "mount --bind \"$0\" /etc/ssl/certs && exec \"$@\"", folder.path, program]
          + words,
        environment: environment)
    }
  }

  private func load(
    _ host: String, of site: Site, in place: Place, _ shell: Shell, _ words: [String] = [],
    _ variables: [String: String] = [:]
  ) async throws -> ChildProcess.Finished {
    let url = "https://\(host):\(site.nginx.port)/"
    return try await place.run(
      try BuiltProduct.cachefetch(),
      [
        "-q", "--retry", "0", "--connect-timeout", "1h", "--policy", "fresh-only",
        "--resolve", "\(host):\(site.nginx.port):127.0.0.1",
      ]
        + words + [url], shell.environment.merging(variables) { $1 })
  }

  /// Whether curl takes the certificate.
  private func isTaken(
    _ host: String, of site: Site, in place: Place, _ words: [String] = [],
    _ variables: [String: String] = [:]
  ) async throws -> Bool {
    var environment: [String: String?] = ["CURL_CA_BUNDLE": nil, "SSL_CERT_FILE": nil, "SSL_CERT_DIR": nil]
    environment.merge(variables) { $1 }
    let run = try await place.run(
      "/usr/bin/curl",
      ["-sS", "--resolve", "\(host):\(site.nginx.port):127.0.0.1"] + words
        + ["https://\(host):\(site.nginx.port)/"], environment)
    try #require([.status(0), .status(60)].contains(run.exit), "\(run.errorText)")
    return run.exit == .status(0)
  }

  @Test func `every verdict is curl's, wherever the system keeps its authorities`() async throws {
    let (shell, site) = (try Shell(), try await Site())
    let (ours, others) = (site.ours.authority, site.others.authority)
    let places = [
      "in both": try await Place(linked: [ours, others], bundled: [ours, others]),
      "in the folder alone": try await Place(linked: [ours], bundled: [others]),
      "in the bundle alone": try await Place(linked: [others], bundled: [ours]),
      "in a folder without links": try await Place(linked: [], bundled: [ours]),
      "nowhere": try await Place(linked: [others], bundled: [others]),
      "added with the system's tool": try await Place(updatedWith: ours),
    ]
    var taken: [String: [String]] = [:]
    for (name, place) in places {
      for host in Site.hosts {
        let run = try await load(host, of: site, in: place, shell)
        let isTaken = try await isTaken(host, of: site, in: place)
        #expect(run.status == (isTaken ? 0 : 4), "\(name): \(host): \(run.errorText)")
        if isTaken { taken[name, default: []].append(host) }
      }
    }
    // curl's own verdicts, so that the places are what their names say.
    #expect(
      taken == [
        "in both": ["good.test", "unknown.test"], "in the folder alone": ["good.test", "unknown.test"],
        "in the bundle alone": ["good.test", "unknown.test"], "in a folder without links": ["good.test"],
        "nowhere": ["unknown.test"], "added with the system's tool": ["good.test"],
      ])
  }

  @Test func `what options and variables name is judged as curl judges it`() async throws {
    let (shell, site) = (try Shell(), try await Site())
    let place = try await Place(linked: [site.others.authority], bundled: [site.others.authority])
    let elsewhere = try await Place(linked: [site.ours.authority], bundled: [])
    let ours = site.ours.authority
    for (words, variables) in [
      (["--cacert", ours], [:]), ([], ["CURL_CA_BUNDLE": ours]), ([], ["SSL_CERT_FILE": ours]),
      ([], ["SSL_CERT_DIR": elsewhere.folder.path]), (["--insecure"], [:]),
      ([], Self.system), ([], ["SSL_CERT_FILE": ours, "SSL_CERT_DIR": "/etc/ssl/certs"]),
    ] as [([String], [String: String])] {
      // Of both variables curl 7.88 hears the folder alone, of both options both.
      let both = variables["SSL_CERT_FILE"].flatMap { file in
        variables["SSL_CERT_DIR"].map { ["--cacert", file, "--capath", $0] }
      }
      for host in Site.hosts {
        let run = try await load(host, of: site, in: place, shell, words, variables)
        let isTaken = try await isTaken(
          host, of: site, in: place, both ?? words, both == nil ? variables : [:])
        #expect(run.status == (isTaken ? 0 : 4), "\(words)\(variables): \(host): \(run.errorText)")
      }
    }
  }

  @Test func `the authority that a tier's URL names stands in the place of the system's`() async throws {
    var shell = try Shell()
    let (ours, others) = (try TestCertificates(), try TestCertificates())
    try await ours.makeAuthority(named: "Ours")
    try await others.makeAuthority(named: "Another")
    try await ours.make("server", host: "localhost")
    let server = try await RedisServer(certificates: ours)
    let key = try await TierFleet.key(for: shell)
    let place = try await Place(linked: [ours.authority], bundled: [ours.authority])
    for (authority, isTaken) in [(ours.authority, true), (others.authority, false)] {
      shell.environment["CACHEFETCH_TIER"] =
        "rediss://localhost:\(server.port)?key-file=\(key)&patience=60s&ca-file=\(authority)"
      let run = try await place.run(try BuiltProduct.cachefetch(), ["doctor", "--json"], shell.environment)
      #expect(run.outputText.contains("answers in") == isTaken, "\(run.outputText)\(run.errorText)")
      #expect(isTaken || run.outputText.contains("certificate"), "\(run.outputText)\(run.errorText)")
    }
  }

  /// Variables that name what is the system's own.
  private static let system = [
    "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt", "SSL_CERT_DIR": "/etc/ssl/certs",
  ]

  @Test(
    "with links by hash the bundle is not read, nor where a variable names it",
    arguments: [[:], system, ["CURL_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt"]])
  func linked(variables: [String: String]) async throws {
    let (shell, site) = (try Shell(), try await Site())
    let place = try await Place(linked: [site.ours.authority], bundled: [])
    // Reading it would be an error.
    try place.folder.write("no certificate".utf8, to: "ca-certificates.crt")
    let run = try await load("good.test", of: site, in: place, shell, [], variables)
    #expect(run.status == 0 && run.outputText == "GET of good.test", "\(run.errorText)")
    #expect(try await load("unknown.test", of: site, in: place, shell, [], variables).status == 4)
    let bundled = try await Place(linked: [site.others.authority], bundled: [site.ours.authority])
    #expect(try await load("good.test", of: site, in: bundled, shell, [], variables).status == 0)
  }

  @Test func `a request that may not be repeated goes out once where the bundle is needed`() async throws {
    let (shell, origin) = (try Shell(), try FixtureServer(routes: ["/": .ok("taken")]))
    let site = try await Site(content: "proxy_pass \(origin.url);")
    let place = try await Place(linked: [site.others.authority], bundled: [site.ours.authority])
    let run = try await place.run(
      try BuiltProduct.cachefetch(),
      [
        "--retry", "0", "--connect-timeout", "1h", "-d", "one", "--resolve",
        "good.test:\(site.nginx.port):127.0.0.1",
        "https://good.test:\(site.nginx.port)/",
      ], shell.environment)
    #expect(run.status == 0 && run.outputText == "taken", "\(run.errorText)")
    #expect(origin.requests().map(\.method) == ["POST"])
    #expect(origin.requests().map(\.body) == [Array("one".utf8)])
  }

  @Test(
    .enabled(
      if: access("/usr/lib/x86_64-linux-gnu/libcurl-gnutls.so.4", R_OK) == 0,
      "there is no libcurl with GnuTLS"))
  func `with GnuTLS the verdicts are the same`() async throws {
    let (shell, site) = (try Shell(), try await Site())
    let libraries = try TemporaryFolder()
    symlink("/usr/lib/x86_64-linux-gnu/libcurl-gnutls.so.4", libraries.file("libcurl.so.4"))
    let ours = site.ours.authority
    for place in [
      try await Place(linked: [ours], bundled: [ours]), try await Place(linked: [], bundled: [ours]),
    ] {
      var verdicts: [Int32] = []
      for host in Site.hosts {
        let run = try await load(
          host, of: site, in: place, shell, [], ["LD_LIBRARY_PATH": libraries.path])
        verdicts.append(run.status)
      }
      #expect(verdicts == [0, 4, 4, 4], "\(place)")
    }
  }
}
