internal import CProcess
internal import CacheStore
internal import DataService
internal import Synchronization

/// What the command may do with files while it has to do with the network: Landlock, where the kernel has it.
///
/// The network's thread puts the rules together, beside the loading of the network library, so that a stored answer does
/// not wait for them. It and all threads that it starts are held to them, and the main thread before it takes what the
/// network brought.
enum Sandbox {
  /// A path below which files may be read, or written too.
  struct Rule: Hashable, Sendable {
    var path: String
    var writes = false
  }

  /// The kernel's name of the rules; -1 until there are any.
  private static let rules = Atomic<Int32>(-1)
  /// Whether the main thread is to be held to them.
  private static let awaitsMainThread = Atomic(false)

  /// Sees to it that the network is only had to do with under the rules.
  static func prepare(_ arguments: Arguments) {
    guard VerbSet.fetching.contains(VerbSet(arguments.verb)), !arguments.has(.noSandbox) else { return }
    // `diff` starts a program of that name, wherever it is.
    let holdsMainThread = arguments.verb != .diff
    NetworkThread.setPreparation {
      guard rules.load(ordering: .acquiring) < 0 else {
        _ = cprocess_confinement_enforce(rules.load(ordering: .acquiring))
        return
      }
      let made = cprocess_confinement_begin()
      guard made >= 0 else { return }
      for rule in self.rules(arguments, Environment.value) { allow(rule, in: made) }
      guard cprocess_confinement_enforce(made) else { return }
      rules.store(made, ordering: .releasing)
      awaitsMainThread.store(holdsMainThread, ordering: .releasing)
    }
  }

  /// Called by the main thread before it takes what another thread has for it.
  static func takeIn() {
    guard awaitsMainThread.load(ordering: .acquiring) else { return }
    awaitsMainThread.store(false, ordering: .relaxed)
    _ = cprocess_confinement_enforce(rules.load(ordering: .acquiring))
  }

  /// Allows it; where a folder to write to is still missing, that it be made.
  private static func allow(_ rule: Rule, in made: Int32) {
    var path = rule.path
    while !cprocess_confinement_allow(made, path, rule.writes), rule.writes, path != "/", path != "." {
      path = ReplacedFile.folder(of: path)
    }
  }

  /// Everything that a load needs.
  static func rules(_ arguments: Arguments, _ variable: (String) -> String?) -> [Rule] {
    var rules = system.map { Rule(path: $0) } + [Rule(path: "/dev", writes: true)]
    func folder(of path: String) -> Rule { Rule(path: ReplacedFile.folder(of: path), writes: true) }
    rules.append(folder(of: StoreLocation.path(arguments)))
    if let file = arguments.text(.output), file != "-" {
      rules.append(folder(of: file))
      if let target = ReplacedFile.target(of: file) { rules.append(folder(of: target)) }
    }
    if let file = variable("SSLKEYLOGFILE"), !file.isEmpty { rules.append(folder(of: file)) }
    let temporary = ["SQLITE_TMPDIR", "TMPDIR"].compactMap { variable($0) }.filter { !$0.isEmpty }
    for path in temporary.isEmpty ? ["/tmp", "/var/tmp"] : temporary {
      rules.append(Rule(path: path, writes: true))
    }
    for name in [OptionName.cacert, .cert, .keyFile] {
      for path in arguments.texts(name) { rules.append(Rule(path: path)) }
    }
    for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH"] + libraryVariables {
      for path in (variable(name) ?? "").split(separator: ":") { rules.append(Rule(path: String(path))) }
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
