internal import CCurl
internal import CacheStore

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
}
