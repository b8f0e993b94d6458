internal import DataService

/// What the command may do with files while it has to do with the network.
enum SandboxRules {
  /// Puts them into force for the verbs that have to do with it.
  static func prepare(_ arguments: Arguments) {
    guard VerbSet.fetching.contains(VerbSet(arguments.verb)), !arguments.has(.noSandbox) else { return }
    // `diff` starts a program of that name, wherever it is.
    Sandbox.prepare(holdsMainThread: arguments.verb != .diff) { all(arguments, Environment.value) }
  }

  /// Everything that a load needs.
  static func all(_ arguments: Arguments, _ variable: (String) -> String?) -> [Sandbox.Rule] {
    var rules = system.map { Sandbox.Rule(path: $0) } + [Sandbox.Rule(path: "/dev", writes: true)]
    func folder(of path: String) -> Sandbox.Rule { Sandbox.Rule(path: Paths.folder(of: path), writes: true) }
    rules.append(folder(of: StoreLocation.path(arguments)))
    if let file = arguments.text(.output), file != "-" {
      rules.append(folder(of: file))
      if let target = ReplacedFile.target(of: file) { rules.append(folder(of: target)) }
    }
    if let file = variable("SSLKEYLOGFILE"), !file.isEmpty { rules.append(folder(of: file)) }
    let temporary = ["SQLITE_TMPDIR", "TMPDIR"].compactMap { variable($0) }.filter { !$0.isEmpty }
    for path in temporary.isEmpty ? ["/tmp", "/var/tmp"] : temporary {
      rules.append(Sandbox.Rule(path: path, writes: true))
    }
    for name in [OptionName.cacert, .cert, .keyFile] {
      for path in arguments.texts(name) { rules.append(Sandbox.Rule(path: path)) }
    }
    for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH"] + libraryVariables {
      for path in (variable(name) ?? "").split(separator: ":") {
        rules.append(Sandbox.Rule(path: String(path)))
      }
    }
    return rules
  }

  /// What the system brings. Not: home folders, mounted disks, what services keep below `/srv`.
  private static let system = [
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc", "/opt", "/var", "/run", "/proc",
    "/sys", "/nix", "/gnu", "/snap",
  ]

  /// Variables by which OpenSSL and the C library are told of further files.
  private static let libraryVariables = [
    "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "HOSTALIASES", "GCONV_PATH", "LOCPATH",
  ]
}
