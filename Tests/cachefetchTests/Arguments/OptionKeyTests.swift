import CacheStore
import DataService
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

/// Every option of a request is in the key of its row, or in the list of those that cannot matter.
@Suite("Options and the key", .inTurn) struct OptionKeyTests {
  private let folder: TemporaryFolder
  private let service: DataService

  init() throws {
    folder = try TemporaryFolder()
    service = DataService(configuration: .init(store: StoreConfiguration(path: folder.file("store.sqlite"))))
    try folder.write("a certificate", to: "a.pem")
  }

  /// The words that make another key.
  private var inKey: [OptionName: [String]] {
    let pem = folder.file("a.pem")
    return [
      .method: ["-X", "PUT"], .header: ["-H", "Host: b.test"], .data: ["-d", "x"],
      .dataBinary: ["--data-binary", "y"], .dataURLEncode: ["--data-urlencode", "z"],
      .asQuery: ["-G", "-d", "g"], .user: ["-u", "a:b"], .account: ["--account", "alice"],
      .key: ["--key", "k"], .noLocation: ["--no-location"],
      .cacert: ["--cacert", pem], .cert: ["--cert", pem], .insecure: ["-k"],
      .resolve: ["--resolve", "a.test:443:127.0.0.1"], .unixSocket: ["--unix-socket", "/s"],
      .secretParameter: ["--secret-parameter", "q"],
    ]
  }

  private static let policies = "it chooses among answers, and makes none"
  private static let shown = "it is about what is printed"
  private static let costs = "it says what a load may cost"
  private static let shared =
    "it says who else may have the answer, and what depends on the machine is not shared"
  private static let rows = "it is about the row, not the answer"

  /// Why an option need not be in the key.
  private static let cannotMatter: [OptionName: String] = [
    .head: "a GET row also answers HEAD", .read: "the method is in the key, and this says that it only reads",
    .tag: rows, .pin: rows, .keepAnyway: rows, .policy: policies, .offline: policies, .maxAge: policies,
    .deadline: policies, .one: shown, .staleOK: shown, .maxStale: policies, .showError: shown,
    .waitOnline: costs, .print: shown, .ignorePath: shown, .include: shown, .json: shown,
    .output: shown, .fail: shown, .failWithBody: shown, .writeOut: shown,
    .accept: "what it refuses is never stored", .netrc: "what it finds makes an account, as -u does",
    .noSandbox: "it says what else the process may touch", .quiet: shown, .verbose: shown,
    .background: "it says when, not who",
    .parallel: costs, .connectTimeout: costs, .timeout: costs, .retry: costs, .maxBody: costs,
    .proxy: "it says which way a request goes: whoever asks from two places says --key",
    .keyFile: "it proves the certificate, which makes an account",
    .secretField: "a field of that name then makes an account; without one nothing changes",
    .http11: "the version is spoken between two ends", .noCompressed: "decoded bodies are stored",
    .tier: shared, .noTier: shared, .store: "each store has its own keys", .help: "nothing is asked for",
    .version: "nothing is asked for",
  ]

  private func key(_ words: [String], for url: String = "https://a.test/x?q=1") throws -> RequestKey {
    let arguments = try ArgumentParser.parse(["get"] + words + [url])
    let secrets = arguments.texts(.secretParameter)
    var configuration = DataService.Configuration(
      store: StoreConfiguration(path: folder.file("store.sqlite")))
    for name in secrets { configuration.secrets.parameters.insert(name) }
    return try DataService(configuration: configuration).key(
      for: RequestArguments(arguments).request(for: arguments.operand))
  }

  @Test func `every option that get takes is placed`() {
    let placed = Set(inKey.keys).union(Self.cannotMatter.keys)
    #expect(Set(inKey.keys).isDisjoint(with: Self.cannotMatter.keys))
    let taken = OptionName.allCases.filter { Option.row($0).verbs.contains(.get) }
    #expect(
      taken.filter { !placed.contains($0) } == [], "a new option is in the key, or there is a reason why not")
  }

  @Test func `those that decide who answers make keys of their own`() throws {
    var keys: [RequestKey: String] = [try key([]): "none"]
    for (name, words) in inKey {
      let made = try key(words)
      #expect(keys[made] == nil, "--\(name.rawValue) is \(keys[made] ?? "")")
      keys[made] = name.rawValue
    }
  }

  @Test func `over http no option about certificates makes a key of its own, and over neither a proxy does`()
    throws
  {
    let (plain, secure, pem) = ("http://a.test/x", "https://a.test/x", folder.file("a.pem"))
    for words in [["-k"], ["--cacert", pem], ["--cert", pem], ["-x", "http://p:1"]] {
      #expect(try key(words, for: plain) == key([], for: plain), "\(words)")
    }
    #expect(try key(["-x", "http://p:1"], for: secure) == key([], for: secure))
  }

  @Test func `whoever looks a row up can say all that is in its key`() {
    for name in inKey.keys {
      let verbs = Option.row(name).verbs
      #expect(verbs.isSuperset(of: [.explain, .show]), "explain and show have no --\(name.rawValue)")
    }
  }
}
