#if os(Linux) && !PORTABLE
  /// Where a ``RawConnection`` leads, and how it is secured.
  package struct RawEndpoint: Sendable, Hashable {
    /// The host's name or address; the certificate has to be its.
    package var host: String
    /// The port.
    package var port: Int
    /// The path of a unix socket that is connected to in place of the host.
    package var unixSocket: String?
    /// Whether the connection is encrypted, and the peer's certificate verified.
    package var isSecure = false
    /// A file of certificate authorities in place of the system's.
    package var certificateAuthorityFile: String?
    /// The client's certificate.
    package var clientCertificateFile: String?
    /// The client's key.
    package var clientKeyFile: String?

    /// Makes an endpoint without TLS.
    package init(host: String, port: Int, unixSocket: String? = nil) {
      (self.host, self.port, self.unixSocket) = (host, port, unixSocket)
    }

    /// The host and port, or the socket's path, for a person.
    package var name: String { unixSocket ?? "\(host):\(port)" }

    /// Host and port as in a URL.
    var authority: String {
      host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }
#endif
