package import CacheStore

/// Finds the keyed digests in what a row is found by: those of a secret parameter, of the proxy's credentials, of the
/// request's body, and of a field that `Vary` names.
///
/// Another store digests the same values with its own key, so it would never find such a row.
package enum KeyedParts {
  /// Whether only the store that a row is in can find it.
  package static func areIn(_ key: RequestKey, variant: String) -> Bool {
    // A key of the caller's own is written as it is.
    if !key.target.hasPrefix("key:"), isDigest(in: key.target, after: "=~") { return true }
    let isInExtra = RequestKey.extraParts(key.extra).contains { part in
      part.name == "body" || part.name == "proxy" && isDigest(in: part.value ?? "", after: "~")
    }
    return isInExtra || isDigest(in: variant, after: ": ")
  }

  /// Whether a mark is followed by the digits of a digest, and no more of them.
  private static func isDigest(in text: String, after mark: String) -> Bool {
    text.split(separator: mark, omittingEmptySubsequences: false).dropFirst().contains { rest in
      rest.utf8.prefix { $0.hexDigitValue != nil && !(0x41...0x46).contains($0) }.count == DigestKey.digits
    }
  }
}
