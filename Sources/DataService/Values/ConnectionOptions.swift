/// How the connection to an origin is made. The options that decide who answers, or for whom, are part of the key;
/// those of certificates only over https.
public struct ConnectionOptions: Sendable, Hashable {
  /// Sends one host and port to an address of the caller's, as `curl --resolve` does.
  public struct Resolution: Sendable, Hashable {
    /// The host as the URL has it.
    public var host: String
    /// The port.
    public var port: Int
    /// The address to connect to.
    public var address: String
    /// Makes a resolution.
    public init(host: String, port: Int, address: String) {
      self.host = host
      self.port = port
      self.address = address
    }
  }

  /// Accept any certificate. Part of the key: what an unverified server said is never shown to a verified load.
  public var isInsecure = false
  /// Connect through this unix-domain socket. Part of the key.
  public var unixSocket: String?
  /// Addresses for hosts. Part of the key.
  public var resolutions: [Resolution] = []
  /// The proxy's URL; `nil` takes the environment's (`http_proxy`, `https_proxy`, `all_proxy`), an empty text none. No
  /// part of the key, since a machine's way to the network does not decide who answers; but an exchange is shared, a
  /// download resumed and a pause heard only with the same one. Hosts that the environment's `no_proxy` names are asked
  /// without a proxy, without this one too, as with `curl --proxy`.
  public var proxy: String?
  /// A file of certificate authorities (PEM) to trust instead of the system's bundle. That a file or folder is named is
  /// part of the key, and not what is in it. The folder that libcurl was built with, on Debian `/etc/ssl/certs`, is
  /// searched besides unless another is named, as with `curl --cacert`.
  public var certificateAuthorityFile: String?
  /// A folder of certificate authorities (PEM, by the names that `openssl rehash` gives) instead of the system's,
  /// besides the file or the system's bundle.
  public var certificateAuthorityFolder: String?
  /// Whether the environment named those authorities: they are then the machine's own, and no part of the key.
  package var isMachineTrust = false
  /// A client certificate (PEM), a credential: its contents make an account if none is named. It is shown only to the
  /// URL's own origin, never to one that a redirect leads to.
  public var clientCertificateFile: String?
  /// The client certificate's key (PEM).
  public var clientKeyFile: String?
  /// Speak HTTP/1.1 only.
  public var isHTTP11Only = false
  /// Ask for a compressed answer and decode it. Off under the `http` policy. Where it is off, a body in a coding that
  /// the origin uses unasked is decoded too, and `Content-Encoding` and `Content-Length` left out; a request with an
  /// `Accept-Encoding` or `Range` of its own gets the body as it comes.
  public var isCompressed = true

  /// The defaults: verified TLS, the environment's proxy, compression, HTTP/2 where offered.
  public init() {}
}
