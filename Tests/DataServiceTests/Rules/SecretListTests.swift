import Testing
import TestTurns

@testable import DataService

/// What is on the list is a promise: a name that leaves it lets a secret into the store.
@Suite("The list of secret names", .inTurn) struct SecretListTests {
  static let fields: Set<String> = [
    "x-api-key", "api-key", "apikey", "x-auth-token", "x-access-token", "x-csrf-token", "x-xsrf-token",
    "x-amz-security-token", "x-goog-api-key", "x-functions-key", "x-vault-token", "private-token",
    "ocp-apim-subscription-key", "x-session-token", "x-shopify-access-token", "x-auth-key", "x-auth",
    "x-plex-token",
    "dd-api-key", "dd-application-key", "circle-token", "x-gitlab-token", "token", "job-token",
    "x-github-token",
    "x-figma-token", "x-auth-user", "x-session-id", "x-forwarded-access-token",
  ]
  static let parameters: Set<String> = [
    "access_token", "api_key", "apikey", "api-key", "auth", "auth_token", "client_secret", "code", "id_token",
    "jwt",
    "key", "passwd", "password", "refresh_token", "secret", "session", "sessionid", "sig", "signature",
    "subscription-key", "token", "private_token", "oauth_token", "api_token", "pass", "pwd", "pw",
    "x-plex-token",
    "awsaccesskeyid", "appid", "app_id", "appkey", "app_key", "key-pair-id", "ticket", "hdnts", "hdnea",
    "otp", "pin",
    "sid", "phpsessid", "jsessionid", "samlresponse", "code_verifier", "x-amz-credential",
    "x-amz-security-token",
    "x-amz-signature", "x-goog-credential", "x-goog-signature",
  ]

  @Test("The defaults, and what a caller makes of them") func defaults() {
    let list = SecretList()
    #expect(list.fields == Self.fields && list.parameters == Self.parameters && list.includesPatterns)
    var own = list
    own.fields = Self.fields
    own.parameters = Self.parameters
    #expect(own == list, "the defaults by another way")
    own.fields = ["x-mine"]
    own.parameters = ["mine"]
    #expect(own.fields == ["x-mine"] && own.parameters == ["mine"] && own != list)
  }

  @Test("Without patterns the list alone decides, and credentials always do") func withoutPatterns() {
    var list = SecretList()
    list.includesPatterns = false
    for name in Self.fields { #expect(list.isSecretField(name.uppercased()), "\(name)") }
    for name in Self.parameters { #expect(list.isSecretParameter(name.uppercased()), "\(name)") }
    #expect(!list.isSecretField("x-other-token") && !list.isSecretParameter("other_token"))
    list.fields = []
    list.parameters = []
    for name in ["Authorization", "COOKIE", "proxy-authorization"] {
      #expect(list.isSecretField(name), "\(name)")
    }
    #expect(!list.isSecretField("x-api-key") && !list.isSecretParameter("token"))
    #expect(SecretList.credentialFields == ["authorization", "cookie", "proxy-authorization"])
  }

  @Test("White space and brackets around a parameter do not count") func around() {
    var list = SecretList()
    list.includesPatterns = false
    list.parameters = ["who", "_w_", "!"]
    for (name, isSecret) in [
      ("who", true), ("+who", true), ("%20who", true), ("who[]", true), ("[who]", true), ("WH%4F", true),
      ("who.x", false),
      ("whoo", false), ("_w_", true), ("w", false), ("!", true), ("[]", false), ("", false),
    ] {
      #expect(list.isSecretParameter(name) == isSecret, "\(name)")
    }
  }

  @Test("Fields that Vary names and that may stand in the store as they are") func harmless() {
    let list = SecretList()
    let harmless = [
      "accept", "accept-charset", "accept-encoding", "accept-language", "accept-version", "content-type",
      "dnt", "host",
      "origin", "prefer", "range", "save-data", "te", "upgrade-insecure-requests", "user-agent",
      "x-requested-with",
      "sec-fetch-mode", "sec-", "sec-websocket-key",
    ]
    for name in harmless {
      #expect(list.isHarmlessField(name) && list.isHarmlessField(name.uppercased()), "\(name)")
    }
    for name in [
      "x-tenant", "sec", "xsec-a", "sec-token", "authorization", "cookie", "x-api-key", "accept-x", "",
    ] {
      #expect(!list.isHarmlessField(name), "\(name)")
    }
    var own = list
    own.fields.insert("accept")
    #expect(!own.isHarmlessField("Accept"))
  }

  static let texts: [(text: String, shown: String)] = [
    ("", ""), ("nothing", "nothing"), ("a=1", "a=1"), ("u@h", "u@h"), ("http://u@h/", "http://~@h/"),
    ("http://u:p@q@h/", "http://~@h/"), ("http://h/@u", "http://h/@u"), ("//@h", "//~@h"), ("//u@h", "//~@h"),
    ("token=1", "token=~"), ("token=1,token=2", "token=~,token=~"), ("'token=1'", "'token=~'"),
    ("\"token=1\"", "\"token=~\""), ("<token=1>", "<token=~>"), ("a token=1\nb", "a token=~\nb"),
    ("http://h/?token=1 x", "http://h/?token=~ x"), ("http://u@h/?token=1", "http://~@h/?token=~"),
    ("a!token=1", "a!token=~"), (" http://u@h", " http://~@h"), ("x=1,", "x=1,"),
  ]

  @Test("A name with marks of its own is found behind the sign that a text begins with") func firstOfText() {
    var list = SecretList()
    list.parameters = ["_w_"]
    for (text, shown) in [
      ("_w_=1", "_w_=~"), ("<_w_=1>", "<_w_=~>"), ("a <_w_=1>", "a <_w_=~>"), ("w=1", "w=1"),
    ] {
      #expect(list.withoutSecrets(text) == shown, "\(text)")
    }
  }

  @Test("Secrets are taken out of a text wherever a URL stands in it, law 12") func text() {
    for (text, shown) in Self.texts { #expect(SecretList().withoutSecrets(text) == shown, "\(text)") }
  }
}
