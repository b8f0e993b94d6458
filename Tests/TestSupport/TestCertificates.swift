/// An authority and the certificates it gives out, made with `openssl` for one test.
public final class TestCertificates: Sendable {
  /// Where they lie.
  public let folder: TemporaryFolder

  /// Makes the folder, and nothing in it.
  public init() throws { folder = try TemporaryFolder() }

  /// The authority's certificate.
  public var authority: String { folder.file("ca.pem") }

  /// The file of a certificate.
  public func certificate(_ name: String) -> String { folder.file("\(name).pem") }
  /// The file of its key.
  public func key(_ name: String) -> String { folder.file("\(name).key") }

  /// The nginx directives that use a certificate.
  public func directives(_ name: String) -> String {
    "ssl_certificate \(certificate(name)); ssl_certificate_key \(key(name));"
  }

  /// Makes the authority.
  public func makeAuthority(named name: String = "Test authority") async throws {
    try await makeKey("ca")
    try await openssl(
      "req", "-x509", "-new", "-key", key("ca"), "-subj", "/CN=\(name)", "-days", "2", "-out",
      authority)
  }

  /// Makes a certificate signed by the authority.
  public func make(_ name: String, host: String, days: Int = 2) async throws {
    try await makeKey(name)
    try folder.write("subjectAltName=DNS:\(host)\n", to: "\(name).ext")
    try await openssl(
      "req", "-new", "-key", key(name), "-subj", "/CN=\(host)", "-out", folder.file("\(name).csr"))
    try await openssl(
      "x509", "-req", "-in", folder.file("\(name).csr"), "-CA", authority, "-CAkey", key("ca"), "-set_serial",
      "\(abs(name.hashValue) % 1_000_000 + 2)", "-days", "\(days)", "-extfile", folder.file("\(name).ext"),
      "-out",
      certificate(name))
  }

  /// Makes a certificate that signs itself.
  public func makeSelfSigned(_ name: String, host: String) async throws {
    try await makeKey(name)
    try await openssl(
      "req", "-x509", "-new", "-key", key(name), "-subj", "/CN=\(host)", "-addext",
      "subjectAltName=DNS:\(host)",
      "-days", "2", "-out", certificate(name))
  }

  private func makeKey(_ name: String) async throws {
    try await openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key(name))
  }

  private struct Failed: Error { let text: String }

  private func openssl(_ arguments: String...) async throws {
    let run = try await ChildProcess.run("/usr/bin/openssl", arguments)
    guard run.exit == .status(0) else { throw Failed(text: "openssl \(arguments): \(run.errorText)") }
  }
}
