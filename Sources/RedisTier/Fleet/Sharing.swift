package import CacheStore
package import DataService

/// Decides what machines share through a second tier: what RFC 9111 lets a shared cache store, and less.
///
/// The tier is asked for a request, and offered a response, only where these functions say `yes`.
/// `docs/caching-rules.md` lists each line as a row of its table.
package enum Sharing {
  /// The parts of a request that the rule depends on.
  package struct Asked: Sendable {
    /// The method.
    package var method = RequestMethod.get
    /// Whether a method other than GET and HEAD only reads.
    package var isRead = false
    /// Whether the request bypasses the store.
    package var isPassThrough = false
    /// Whether the caller keeps answers that say `no-store`.
    package var keepsAnyway = false
    /// The account's name; empty for none.
    package var account = ""
    /// The fields sent, with Basic credentials of the URL's user-info.
    package var fields = HTTPFields()
    /// Whether the URL is of the scheme `http`.
    package var isPlainHTTP = false
    /// Whether the URL has user-info or a secret query value.
    package var hasSecretURL = false
    /// How to connect.
    package var connection = ConnectionOptions()
    /// The names of secrets.
    package var secrets = SecretList()

    /// A GET without credentials over https.
    package init() {}

    /// Whether the request carries credentials.
    var hasCredentials: Bool { fields.all.contains { secrets.isSecretField($0.name) } }
  }

  /// The parts of a response, and of the hops that led to it, that the rule depends on.
  package struct Answered: Sendable {
    /// The status code.
    package var status = 200
    /// The fields as received.
    package var fields = HTTPFields()
    /// Whether a redirect on the way said `no-store`.
    package var isNoStoreChain = false
    /// Whether a hop was over plain http.
    package var wasPlainHTTP = false
    /// Whether a temporary redirect led to another host.
    package var leftHostTemporarily = false
    /// Whether the URL that answered contains a secret.
    package var hasSecretURL = false
    /// The length of the body in bytes; `nil` where it is not known yet.
    package var length: Int64?

    /// A 200 without fields.
    package init() {}
  }

  /// Whether the tier may be asked for an answer to the request.
  package static func verdict(_ asked: Asked, _ terms: TierTerms) -> DataService.Shared {
    guard !asked.isPassThrough else { return .no(.passThrough) }
    guard asked.method == .get || asked.isRead && asked.method != .head else { return .no(.method) }
    guard !asked.keepsAnyway else { return .no(.keepsAnyway) }
    guard !CacheControl.forbidsStoring(asked.fields) else { return .no(.noStore) }
    guard !asked.fields.contains("Cookie") else { return .no(.cookie) }
    guard asked.account.isEmpty ? !asked.hasCredentials : terms.accounts.contains(asked.account) else {
      return .no(.account)
    }
    guard !asked.hasSecretURL else { return .no(.secretURL) }
    guard asked.connection.isOfEveryMachine else { return .no(.connection) }
    guard !asked.isPlainHTTP || terms.sharesPlainHTTP else { return .no(.plainHTTP) }
    // Under TLS a proxy only forwards; without TLS it may answer itself.
    guard !asked.isPlainHTTP || asked.connection.proxy == nil else { return .no(.connection) }
    return .yes
  }

  /// Whether the response to the request may be offered to the tier.
  package static func verdict(
    _ asked: Asked, _ answered: Answered, _ terms: TierTerms
  ) -> DataService.Shared {
    let request = verdict(asked, terms)
    guard request == .yes else { return request }
    guard !terms.isReadOnly else { return .no(.readOnly) }
    let control = CacheControl(fields: answered.fields)
    guard !answered.isNoStoreChain, !control.noStore else { return .no(.noStore) }
    guard !control.isPrivate else { return .no(.isPrivate) }
    guard (200..<300).contains(answered.status), answered.status != 206 else { return .no(.status) }
    guard !control.mustUnderstand || HTTPStoring.isUnderstood(answered.status) else {
      return .no(.mustUnderstand)
    }
    let names = Vary.names(in: answered.fields)
    guard mayShare(vary: names, asked.secrets) else { return .no(.vary) }
    guard !asked.hasCredentials || control.allowsAuthorized else { return .no(.authorization) }
    guard !answered.fields.contains("Set-Cookie") || control.isPublic || control.has("s-maxage") else {
      return .no(.setCookie)
    }
    guard HTTPStoring.isPermitted(status: answered.status, fields: answered.fields, isShared: true) else {
      return .no(.notStorable)
    }
    guard !answered.hasSecretURL else { return .no(.secretURL) }
    guard !answered.wasPlainHTTP || terms.sharesPlainHTTP else { return .no(.plainHTTP) }
    guard !(answered.wasPlainHTTP && answered.leftHostTemporarily) else { return .no(.portal) }
    guard answered.length ?? 0 <= terms.largestBody else { return .no(.tooLarge) }
    return .yes
  }

  /// Whether a row with these names in `Vary` may be in a tier: some request can match it, and no name is that of a
  /// secret.
  package static func mayShare(vary names: String, _ secrets: SecretList) -> Bool {
    names != "*" && !names.split(separator: ",").contains { secrets.isSecretField(String($0)) }
  }
}

extension CacheControl {
  /// Whether a shared cache may store a response to a request with `Authorization` (section 3.5).
  fileprivate var allowsAuthorized: Bool { isPublic || has("s-maxage") || mustRevalidate }
}

extension ConnectionOptions {
  /// Whether every machine would get the same answer with these options.
  fileprivate var isOfEveryMachine: Bool {
    !isInsecure && unixSocket == nil && resolutions.isEmpty
      && (isMachineTrust || certificateAuthorityFile == nil && certificateAuthorityFolder == nil)
      && clientCertificateFile == nil && clientKeyFile == nil
  }
}
