internal import CCurl
internal import CacheStore
internal import PlatformC

/// Where OpenSSL finds the system's certificate authorities.
///
/// libcurl has OpenSSL read the system's whole bundle for each new connection, some 140 certificates. In a folder of
/// links named by hashes, as `openssl rehash` makes, OpenSSL opens the one that a chain asks for. libcurl trusts
/// both, so a certificate that is refused with the folder alone is judged again with the bundle, before anything of
/// the request is sent. TLS sessions are not kept across processes: libcurl exports them only from 8.12 on, and a
/// ticket lets an observer recognise the client.
enum SystemAuthorities {
  /// The folder, and the bundle only where that does not do.
  case folder
  /// Both, as libcurl has it.
  case bundle

  /// What this libcurl and this machine allow at first.
  ///
  /// - Parameter easy: Any easy handle of that libcurl.
  init(_ library: CurlLibrary, easy: UnsafeMutableRawPointer) {
    // GnuTLS would read every file in the folder.
    let folder = library.isOpenSSL ? ccurl_authority_folder(library.table, easy) : nil
    let names = folder.map { FolderNames.all(in: String(cString: $0)) } ?? []
    self = names.contains(where: Self.isLink) ? .folder : .bundle
  }

  /// Whether the name is that of a link by hash, such as `002c0b4f.0`.
  static func isLink(_ name: String) -> Bool {
    let (hash, rest) = (name.utf8.prefix(8), name.utf8.dropFirst(8))
    return hash.count == 8 && hash.allSatisfy { "0123456789abcdef".utf8.contains($0) }
      && rest.count > 1 && rest.first == UInt8(ascii: ".")
      && rest.dropFirst().allSatisfy { "0123456789".utf8.contains($0) }
  }

  /// Whether there are authorities to verify a server with; `nil` where libcurl names no place, and has others.
  ///
  /// - Parameters:
  ///   - named: The file that the environment names, if any: without it libcurl refuses every server.
  ///   - file: Where libcurl looks otherwise.
  ///   - folder: The folder that the environment names, else libcurl's.
  static func finding(named: String?, file: String?, folder: String?) -> StoreFinding? {
    func isThere(_ file: String) -> Bool {
      access(file, R_OK) == 0 && FileStatus(path: file + "/.") == nil && FileStatus(path: file)?.bytes != 0
    }
    if let named, !isThere(named) {
      return StoreFinding(
        "authorities", .wrong,
        "the certificate authorities that the environment names cannot be read: \(named)",
        remedy: "correct $CURL_CA_BUNDLE or $SSL_CERT_FILE")
    }
    let places = [named ?? file, folder].compactMap { $0 }
    guard !places.isEmpty else { return nil }
    if let place = places.first(where: { isThere($0) || FolderNames.all(in: $0).contains(where: isLink) }) {
      return StoreFinding("authorities", .fine, place)
    }
    return StoreFinding(
      "authorities", .wrong,
      "there are no certificate authorities at \(places.joined(separator: " or ")): no https server can be "
        + "verified",
      remedy: "install ca-certificates, or name a file of authorities in $SSL_CERT_FILE")
  }
}
