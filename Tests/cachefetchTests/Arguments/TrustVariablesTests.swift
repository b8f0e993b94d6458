import DataService
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: whom the environment trusts", .inTurn) struct TrustVariablesTests {
  private func connection(_ variables: [String: String]) throws(UsageError) -> ConnectionOptions {
    var connection = ConnectionOptions()
    try TrustVariables.apply(to: &connection) { variables[$0] }
    return connection
  }

  @Test func `CURL_CA_BUNDLE goes before the others, and an empty variable is none, as in curl`() throws {
    let folder = try TemporaryFolder()
    let (bundle, file) = (try folder.write("b", to: "bundle"), try folder.write("f", to: "file"))
    let both = try connection(["SSL_CERT_FILE": file, "SSL_CERT_DIR": "/nowhere"])
    #expect(both.certificateAuthorityFile == file && both.certificateAuthorityFolder == "/nowhere")
    let all = try connection(["CURL_CA_BUNDLE": bundle, "SSL_CERT_FILE": file, "SSL_CERT_DIR": "/nowhere"])
    #expect(all.certificateAuthorityFile == bundle && all.certificateAuthorityFolder == nil)
    for none in [[:], ["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": "", "SSL_CERT_DIR": ""]] {
      let connection = try connection(none)
      #expect(
        connection.certificateAuthorityFile == nil && connection.certificateAuthorityFolder == nil, "\(none)")
    }
  }

  @Test(arguments: ["CURL_CA_BUNDLE", "SSL_CERT_FILE"]) func `a file that cannot be read is named`(
    name: String
  ) {
    #expect(
      throws: UsageError("$\(name) “/nowhere” cannot be read", "give a readable PEM file, or unset it")
    ) { try connection([name: "/nowhere"]) }
  }
}
