/// The key by which the store identifies a request.
///
/// The service composes it; the store only compares it. No part holds a secret: a keyed digest stands in the place of
/// a secret that distinguishes requests.
package struct RequestKey: Hashable, Sendable {
  /// The partition: empty for none, the caller's name, or `auto:` and a keyed digest of the credentials.
  package var account: String
  /// The normalised URL, or `key:` and the caller's own key.
  package var target: String
  /// `GET` (which also answers HEAD), or the method of a request marked as a read.
  package var method: String
  /// Everything else that distinguishes requests, each part with its length so that no value is read as another part:
  /// the digest of the body, the caller's own `Host`, and connection options that decide which server answers.
  /// Usually empty.
  package var extra: String

  /// Makes a key of its four parts.
  package init(account: String = "", target: String, method: String = "GET", extra: String = "") {
    self.account = account
    self.target = target
    self.method = method
    self.extra = extra
  }
}

extension RequestKey {
  /// One part of ``extra``: a name alone, or `name=LENGTH:value` with the length in bytes, so that no value is read
  /// as another part.
  package static func extraPart(_ name: String, _ value: String?) -> String {
    value.map { "\(name)=\($0.utf8.count):\($0)" } ?? name
  }

  /// The parts of an ``extra``, in order, up to the first that is not well-formed.
  package static func extraParts(_ extra: String) -> [(name: String, value: String?)] {
    var parts: [(name: String, value: String?)] = []
    var rest = Array(extra.utf8)[...]
    while !rest.isEmpty {
      let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: " ") }
      rest = rest.dropFirst(name.count)
      var value: String?
      if rest.first == UInt8(ascii: "=") {
        let digits = rest.dropFirst().prefix { $0 != UInt8(ascii: ":") }
        rest = rest.dropFirst(digits.count + 2)
        guard let length = Int(String(decoding: digits, as: UTF8.self)), length >= 0, length <= rest.count
        else {
          return parts
        }
        value = String(decoding: rest.prefix(length), as: UTF8.self)
        rest = rest.dropFirst(length)
      }
      parts.append((String(decoding: name, as: UTF8.self), value))
      rest = rest.dropFirst()
    }
    return parts
  }
}
