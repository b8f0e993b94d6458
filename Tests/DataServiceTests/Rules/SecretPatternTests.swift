import Testing
import TestTurns

@testable import DataService

@Suite("Patterns of secret names", .inTurn) struct SecretPatternTests {
  static let parts = [
    "token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "apikey", "accesskey",
    "signature", "session", "sessid", "bearer", "jwt", "authoriz", "authentic", "authcode", "assertion",
    "saml",
    "cookie",
  ]
  static let words = ["auth", "sig", "pass", "pwd", "pw", "otp", "pin", "hmac", "sid"]
  static let endings = ["key", "auth", "pwd", "pass"]
  static let harmless = [
    "idempotency-key", "x-idempotency-key", "sec-websocket-key", "cache-key", "x-cache-key", "surrogate-key",
  ]

  private func isSecret(_ name: String) -> Bool { SecretPattern.isParameter(Array(name.utf8)) }

  @Test("Some letters are secret wherever they stand") func inside() {
    for part in Self.parts {
      for name in [part, "zz\(part)", "\(part)zz", "zz\(part)zz", "z-\(part)-z"] {
        #expect(isSecret(name), "\(name)")
      }
      #expect(!isSecret("zz\(part.dropLast())!zz"), "\(part), but for its end")
    }
  }

  @Test("Some words are secret by themselves") func wholeWords() {
    for word in Self.words {
      for name in [word, "z-\(word)", "\(word)_z", "z.\(word)[z]", "[\(word)]", "\u{E9}-\(word)"] {
        #expect(isSecret(name), "\(name)")
      }
      #expect(!isSecret("\(word)zz"), "\(word)zz")
      #expect(!isSecret("\(word)\u{E9}"), "letters outside ASCII are letters")
    }
    for word in Self.words where !Self.endings.contains(word) { #expect(!isSecret("zz\(word)"), "zz\(word)") }
  }

  @Test("Some words are secret by their end") func ends() {
    for ending in Self.endings {
      for name in ["zz\(ending)", ending, "z-zz\(ending)-z"] { #expect(isSecret(name), "\(name)") }
      #expect(!isSecret("\(ending)zz"), "\(ending)zz")
    }
    #expect(!isSecret("ke") && !isSecret("y") && !isSecret("") && !isSecret("-"))
  }

  @Test("Some fields only look like it, in any case, and no parameter does") func exceptions() {
    for name in Self.harmless {
      #expect(!SecretPattern.isField(name.utf8) && !SecretPattern.isField(name.uppercased().utf8), "\(name)")
      #expect(SecretPattern.isField("z\(name)".utf8) && isSecret(name), "\(name)")
    }
    #expect(SecretPattern.isField("X-TOKEN".utf8))
  }

  @Test("Letters and digits end no word; all else does") func borders() {
    let ends = Array("/:@[`{".utf8) + [0x20, 0x7F, 0]
    let goesOn = Array("09AZaz".utf8) + [0x80, 0xFF]
    for byte in ends { #expect(!byte.isLetterOrDigit, "\(byte)") }
    for byte in goesOn { #expect(byte.isLetterOrDigit, "\(byte)") }
  }
}
