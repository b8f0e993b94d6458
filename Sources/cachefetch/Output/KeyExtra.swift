internal import CacheStore

/// The parts of a key besides account, method and URL, as options of the command line.
struct KeyExtra {
  /// One part: a name, and usually a value.
  struct Part: Hashable {
    let name: String
    var value: String?
  }

  /// In the key's order.
  let parts: [Part]

  init(_ extra: String) {
    parts = RequestKey.extraParts(extra).map { Part(name: $0.name, value: $0.value) }
  }

  /// All parts as text for a user; empty if there are none.
  var text: String { parts.map(\.text).joined(separator: " ") }
}

extension KeyExtra.Part {
  /// The option it comes from; a digest is shortened to its beginning.
  var text: String {
    let value = value ?? ""
    switch name {
    case "body": return "-d \(value.prefix(8))…"
    case "host": return "-H Host:\(value)"
    default:
      return narrowing.map { value.isEmpty ? $0 : "\($0) \(value)" }
        ?? (value.isEmpty ? name : "\(name)=\(value)")
    }
  }

  /// What a request needs to have it. Of a body the key has a digest, which nobody can type.
  var request: String {
    switch name {
    case "body": "the same -d, -X and --read"
    case "authorities": "--cacert FILE"
    default: text
    }
  }

  /// The option that narrows `rm` to it, if there is one.
  var option: OptionName? {
    switch name {
    case "insecure": .insecure
    case "unix": .unixSocket
    case "resolve": .resolve
    case "authorities": .cacert
    case "no-location": .noLocation
    default: nil
    }
  }

  /// The spelling of ``option``.
  var narrowing: String? {
    option.map { $0 == .insecure ? "-k" : "--\($0.rawValue)" }
  }
}
