internal import DataService

/// The certificate authorities that the environment names, as for curl: `CURL_CA_BUNDLE`, else `SSL_CERT_DIR` and
/// `SSL_CERT_FILE`. `--cacert` and `--insecure` override them.
enum TrustVariables {
  /// - Parameter value: The value of an environment variable, `nil` if it is not set.
  static func apply(to connection: inout ConnectionOptions, _ value: (String) -> String?) throws(UsageError) {
    if let bundle = try file("CURL_CA_BUNDLE", value) {
      connection.certificateAuthorityFile = bundle
      return
    }
    // A missing folder is no error: it just holds no authority.
    if let folder = value("SSL_CERT_DIR"), !folder.isEmpty { connection.certificateAuthorityFolder = folder }
    connection.certificateAuthorityFile = try file("SSL_CERT_FILE", value)
  }

  private static func file(_ name: String, _ value: (String) -> String?) throws(UsageError) -> String? {
    guard let path = value(name), !path.isEmpty else { return nil }
    guard InputFile.isReadable(path) else {
      throw UsageError(
        "$\(name) “\(TerminalText.visible(path))” cannot be read", "give a readable PEM file, or unset it")
    }
    return path
  }
}
