import CacheStore
import DataService
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

/// No message about a URL, however it is malformed, has the password in it that somebody wrote there.
@Suite("Passwords in malformed URLs", .inTurn) struct URLSecretTests {
  /// What may stand before, within and behind user-info.
  private static let schemes = [
    "", "/", "//", "///", "http:", "http:/", "http://", "http:///", "http:\\\\", "http:/\\", "https:/",
    "HTTP:/",
    "https://", "ftp:/", "ftp://", "foo:/", "foo:", "http//", "http:// ", " http://", "mailto:", "x@http://",
  ]
  private static let users = [
    "me:GEHEIM@", "me:GEHEIM%40@", "me:GE/HEIM@", "me:GE?HEIM@", "me:GE#HEIM@", ":GEHEIM@",
    "me:GEHEIM/@", "me:12/GEHEIM@", "me:GEHEIMä@", "me:GEHEIMä/x@", "me:@GEHEIM@", "me:GEHEIM\\@",
    "a:b:GEHEIM@",
  ]
  private static let hosts = [
    "host/", "", "/", "host:99999/", "host:x/", "hä/", "ho st/", "host", "[::1/", "host/@x",
  ]

  private func messages(_ text: String) -> [String] {
    var said: [String] = []
    do throws(UsageError) { _ = try URLArgument.parse(text) } catch { said.append(error.line) }
    do throws(DataServiceError) { _ = try NormalisedURL(text) } catch {
      said.append(error.message + (error.hint ?? ""))
    }
    return said
  }

  @Test func `no message has a part of it`() {
    var count = 0
    for scheme in Self.schemes {
      for user in Self.users {
        for host in Self.hosts {
          for message in messages(scheme + user + host) {
            count += 1
            #expect(
              !message.contains("GE") && !message.contains("HEIM"), "\(scheme + user + host): \(message)")
          }
        }
      }
    }
    #expect(count > 1_000)
  }

  @Test("nor what is shown of one that cannot be read", arguments: schemes) func shown(scheme: String) {
    for user in Self.users where !user.contains("12/") {
      let shown = ShownURL.text(scheme + user + "host/path")
      #expect(!shown.contains("GE") && !shown.contains("HEIM"), "\(scheme + user): \(shown)")
    }
  }

  @Test func `the command says none of them`() async throws {
    let shell = try Shell()
    for text in ["http:/me:GEHEIM@host/", "http:\\\\me:GEHEIM@host/", "foo:/me:GEHEIM@host/"] {
      for words in [[text], ["explain", text], ["preload", text], ["rm", text], ["show", text]] {
        let run = try await shell.run(words)
        #expect(run.status != 0 && !run.errorText.contains("GEHEIM"), "\(words): \(run.errorText)")
      }
    }
  }
}
