internal import DataService

/// The file accesses that stay allowed while the command uses the network.
enum SandboxRules {
  /// What applies the rules on the network's thread; `nil` for verbs that do not use the network.
  static func preparation(_ arguments: Arguments, _ diagnostics: Diagnostics) -> (@Sendable () -> Void)? {
    guard VerbSet.fetching.union(.serve).contains(VerbSet(arguments.verb)), !arguments.has(.noSandbox) else {
      return nil
    }
    // `diff` runs the program `diff`, which may be in any folder.
    return Sandbox.preparation(holdsMainThread: arguments.verb != .diff) {
      all(arguments, Environment.value)
    } ifForbidden: {
      diagnostics.sayOnce(
        "there is no sandbox, since a filter kills who makes Landlock's system calls; in a unit, add "
          + "landlock_create_ruleset, landlock_add_rule and landlock_restrict_self to SystemCallFilter, or set "
          + "SystemCallErrorNumber=EPERM; or do without it (--no-sandbox)")
    }
  }

  /// Every path that a load needs.
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
    // A file in a folder of the system, such as most fleets' key, needs no rule of its own.
    for path in arguments.serverFiles(variable) where !system.contains(where: { path.hasPrefix($0 + "/") }) {
      rules.append(Sandbox.Rule(path: path))
    }
    for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH"] + libraryVariables {
      for path in (variable(name) ?? "").split(separator: ":") {
        rules.append(Sandbox.Rule(path: String(path)))
      }
    }
    return rules
  }

  /// Folders of the operating system. Home folders, mounted disks and `/srv` are not among them.
  private static let system = [
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc", "/opt", "/var", "/run", "/proc",
    "/sys", "/nix", "/gnu", "/snap",
  ]

  /// Variables that name further files for OpenSSL and the C library.
  private static let libraryVariables = [
    "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "HOSTALIASES", "GCONV_PATH", "LOCPATH",
  ]
}
