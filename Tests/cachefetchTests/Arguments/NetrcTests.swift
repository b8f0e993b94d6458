import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: netrc", .inTurn) struct NetrcTests {
  private func found(_ text: String, _ host: String, user: String? = nil) throws -> String? {
    try Netrc(Array(text.utf8)).credentials(for: host, user: user).map {
      String(decoding: $0.login + [0x3A] + $0.password, as: UTF8.self)
    }
  }

  @Test func `an entry is found by its host, else the default`() throws {
    let text = """
      # for the news
      machine news.example login alice password "pa ss\\"#1"   # mine
      machine other.example
        login bob
        password p#x
      macdef init
      machine not.example login x password y

      default login anonymous password guest
      """
    #expect(try found(text, "News.Example") == "alice:pa ss\"#1")
    #expect(try found(text, "other.example") == "bob:p#x")
    #expect(try found(text, "not.example") == "anonymous:guest")
  }

  @Test func `a user of the URL's chooses the entry, and no other user's password is sent`() throws {
    let text = "machine a login alice password 1\nmachine a login bob password 2"
    #expect(try found(text, "a") == "alice:1")
    #expect(try found(text, "a", user: "bob") == "bob:2")
    #expect(try found(text, "a", user: "eve") == nil)
    #expect(try found(text, "b") == nil)
    #expect(try found("machine a password 3", "a", user: "eve") == "eve:3")
  }

  @Test(
    "What is wrong is named by its line, and nothing of it is shown",
    arguments: [
      ("machine a login geheim passwrd geheim", "line 1"), ("login geheim", "before the first machine"),
      ("machine a\nlogin", "line 2"), ("machine a password \"geheim", "not closed"),
    ])
  func refused(text: String, part: String) {
    do throws(UsageError) {
      _ = try Netrc(Array(text.utf8))
      Issue.record("taken")
    } catch {
      #expect(error.line.contains(part) && !error.line.contains("geheim"), "\(error.line)")
    }
  }

  @Test(
    "Each part of an entry may be missing",
    arguments: [
      ("machine a", nil), ("machine a login x", "x:"), ("machine a password p", ":p"),
      ("machine a login x account y password z", "x:z"), ("default", nil), ("default login d", "d:"),
      ("machine b login x default password p", ":p"), ("", nil),
      ("machine\u{B}a\rlogin\u{C}x\tpassword\ny", "x:y"), ("machine A login x", "x:"),
      ("# machine a login c\nmachine a#b login x", nil), ("machine a login x#y", "x#y:"),
      ("machine a login x # password p", "x:"), ("machine a login x#\npassword p", "x#:p"),
    ] as [(String, String?)])
  func parts(text: String, credentials: String?) throws {
    #expect(try found(text, "a") == credentials)
  }

  @Test func `quotation marks hold any bytes together`() throws {
    #expect(try found(#"machine a login "x y" password "\n\r\t\\\"z""#, "a") == "x y:\n\r\t\\\"z")
    #expect(try found(#"machine a login "" password p"q"#, "a") == ":p\"q")
  }

  @Test func `a macro ends with an empty line, however lines end`() throws {
    for end in ["\n", "\r\n"] {
      let lines = ["macdef m", "machine b login x", "cd /", "", "machine c login y"]
      let text = lines.joined(separator: end)
      #expect(try found(text, "b") == nil && found(text, "c") == "y:", "\(end.debugDescription)")
    }
  }

  @Test(arguments: [
    ("machine a\n\n\nlogin", "netrc, line 4: nothing follows “login”"),
    ("machine", "line 1: nothing follows “machine”"),
    ("\n#\nword", "line 3: a word"), ("machine a login \"x\ny\" z", "line 2: a word"),
    ("password x", "line 1: “password” stands before the first machine"),
    ("machine a password \"x\n", "line 2: a quotation mark"), ("macdef m\n\nword", "line 3: a word"),
  ]) func `what is wrong is named with its line`(text: String, part: String) {
    do throws(UsageError) {
      _ = try Netrc(Array(text.utf8))
      Issue.record("taken")
    } catch {
      #expect(error.line.contains(part), "\(error.line)")
    }
  }
}
