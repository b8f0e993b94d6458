import PlatformC
import PlatformFoundation
import TestSupport
import Testing

/// nginx with a certificate that only itself vouches for.
struct SelfSignedSite {
  let certificate: String
  let key: String
  /// A folder in which OpenSSL finds the certificate.
  let folder: String
  private let nginx: NginxServer

  var url: String { "https://127.0.0.1:\(nginx.port)/" }

  init(in place: TemporaryFolder) async throws {
    folder = place.file("authorities")
    mkdir(folder, 0o700)
    certificate = folder + "/site.pem"
    key = place.file("site.key")
    let made = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c",
        """
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1" -out "$0" -days 30 \
          -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 && openssl rehash "$2"
        """, certificate, key, folder,
      ])
    try #require(made.status == 0, "\(made.errorText)")
    nginx = try NginxServer(
      server: "ssl_certificate \(certificate); ssl_certificate_key \(key); location / { return 200 site; }",
      listen: "ssl")
  }
}
