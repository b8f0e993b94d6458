import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: whom the environment trusts", .inTurn) struct TrustVariablesTests {
  private func connection(_ variables: [String: String]) -> ConnectionOptions {
    var connection = ConnectionOptions()
    TrustVariables.apply(to: &connection) { variables[$0] }
    return connection
  }

  @Test func `CURL_CA_BUNDLE goes before the others, and an empty variable is none, as in curl`() {
    // Nothing is looked at before a certificate is judged.
    let (bundle, file) = ("/nowhere/bundle", "/nowhere/file")
    let both = connection(["SSL_CERT_FILE": file, "SSL_CERT_DIR": "/nowhere"])
    #expect(both.certificateAuthorityFile == file && both.certificateAuthorityFolder == "/nowhere")
    let all = connection(["CURL_CA_BUNDLE": bundle, "SSL_CERT_FILE": file, "SSL_CERT_DIR": "/nowhere"])
    #expect(all.certificateAuthorityFile == bundle && all.certificateAuthorityFolder == nil)
    #expect(both.isMachineTrust && all.isMachineTrust)
    for none in [[:], ["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": "", "SSL_CERT_DIR": ""]] {
      let connection = connection(none)
      #expect(
        connection.certificateAuthorityFile == nil && connection.certificateAuthorityFolder == nil, "\(none)")
    }
  }
}
