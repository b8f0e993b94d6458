internal import CacheStore

/// What in a key, besides account, method and URL, tells requests apart, as options of the command line.
struct KeyExtra {
  /// One of them: a name, and for most a value.
  struct Part: Hashable {
    let name: String
    var value: String?
  }

  /// In the key's order.
  let parts: [Part]

  init(_ extra: String) {
    parts = RequestKey.extraParts(extra).map { Part(name: $0.name, value: $0.value) }
  }

  /// All of them, for a person; empty where there are none.
  var text: String { parts.map(\.text).joined(separator: " ") }
}

extension KeyExtra.Part {
  /// The option that makes it; of what stands there as a digest, its beginning.
  var text: String {
    let value = value ?? ""
    switch name {
    case "body": return "-d \(value.prefix(8))…"
    case "host": return "-H Host:\(value)"
    case "authorities": return "--cacert \(value.prefix(8))…"
    case "authority-folder": return "SSL_CERT_DIR=\(value)"
    default:
      return narrowing.map { value.isEmpty ? $0 : "\($0) \(value)" }
        ?? (value.isEmpty ? name : "\(name)=\(value)")
    }
  }

  /// The option by which `rm` can be narrowed to it, where there is one.
  var option: OptionName? {
    switch name {
    case "insecure": .insecure
    case "unix": .unixSocket
    case "resolve": .resolve
    case "proxy": .proxy
    case "authorities": .cacert
    case "no-location": .noLocation
    default: nil
    }
  }

  /// That option as it is written.
  var narrowing: String? {
    option.map { $0 == .insecure ? "-k" : $0 == .proxy ? "-x" : "--\($0.rawValue)" }
  }
}
