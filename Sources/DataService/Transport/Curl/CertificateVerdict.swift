internal import CacheStore

/// The meaning of OpenSSL's verdict on a certificate (`X509_V_ERR_…` in openssl/x509_vfy.h, stable since 1.0).
struct CertificateVerdict: Hashable {
  /// The word in `tls(…)`.
  let reason: String
  /// For a person; `%@` stands for the host.
  let message: String
  /// What to do.
  let remedy: Remedy

  /// `nil` for 0, the value for a valid certificate, and for 1, libcurl's initial value before it asks OpenSSL.
  init?(_ result: Int) {
    switch result {
    case 0, 1: return nil
    case 9: (reason, message) = ("notYetValid", "the certificate of %@ is not valid yet")
    case 10: (reason, message) = ("expired", "the certificate of %@ has expired")
    case 18, 19: (reason, message) = ("selfSigned", "the certificate of %@ is signed by itself")
    case 23: (reason, message) = ("revoked", "the certificate of %@ was revoked")
    case 62, 63, 64:
      (reason, message) = ("wrongHost", "the certificate that answered for %@ is another host's")
    default: (reason, message) = ("untrusted", "the certificate of %@ is not from a trusted authority")
    }
    switch reason {
    case "expired", "notYetValid":
      remedy = "check this machine's clock; if it is right, the server has to be put in order"
    case "selfSigned", "untrusted": remedy = .certificateAuthority
    default: remedy = "the address may be wrong, or something between here and the server interferes"
    }
  }
}
