internal import CacheStore
internal import PlatformFoundation

/// Resumes a truncated download (RFC 9110 sections 13.1.5 and 14).
struct Resumption: Sendable {
  /// The stored beginning of the body, verified.
  let body: UnfinishedBody
  /// The request that the beginning belongs to, and the head of its response.
  let partial: UnfinishedBody.Partial
  /// Whether the body would come decoded, which a request for the rest does not ask for.
  let decodesContent: Bool

  /// The stored beginning of a body, and the length of the whole body.
  struct Resumed: Sendable {
    let body: UnfinishedBody
    let wholeLength: Int64
  }

  /// The outcome of a request for the rest.
  enum Joined {
    /// The joined response with the stored beginning, or an unrelated response as it is.
    case response(TransportResponse, Resumed?)
    /// The origin sent something other than the requested rest.
    case useless(because: String)
  }

  /// Adds `Range` and `If-Range` to the request. Ranges count encoded bytes, so no encoding is asked for.
  func ask(in request: inout TransportRequest) {
    request.fields["Range"] = "bytes=\(body.length)-"
    request.fields.remove("If-Range")
    request.fields.append("If-Range", exact: partial.strongETag)
    request.fields["Accept-Encoding"] = "identity"
    request.connection.isCompressed = false
  }

  /// Joins a response to the stored beginning of its body.
  ///
  /// - Parameter wasConditional: Whether the request carried the stored row's validators.
  static func joined(
    _ response: TransportResponse, to resumption: Resumption?, wasConditional: Bool, secretNames: FieldNames
  ) -> Joined {
    guard let resumption else { return .response(response, nil) }
    switch response.status {
    case 206:
      guard let whole = resumption.wholeLength(promisedBy: response) else {
        return resumption.refused("the origin sent another part than the one that is missing")
      }
      let fields = resumption.fields(with: response, wholeLength: whole, secretNames)
      guard Vary.names(in: fields) == Vary.names(in: resumption.partial.fields) else {
        return resumption.refused("the origin sent a part of another variant")
      }
      let joined = TransportResponse(
        version: response.version, status: 200, reason: "OK", fields: fields, interim: response.interim,
        body: response.body)
      return .response(joined, Resumed(body: resumption.body, wholeLength: whole))
    case 416: return resumption.refused("the origin has no such part")
    // Otherwise the URL would fail for as long as the beginning is stored.
    case 304 where !wasConditional:
      return resumption.refused("the origin answered 304 without having been asked for it")
    // No body follows, whatever its fields say.
    case 304: resumption.body.end()
    // After 408, 429 or 5xx the origin is not asked again, even if its page is coded.
    case _ where AnswerRule.isFailure(response.status): resumption.body.end()
    // Nothing has decoded it, since no coding was asked for.
    case _ where resumption.decodesContent && ContentCoding.isNamed(in: response.fields):
      return resumption.refused("the origin sent a body in a coding that was not asked for")
    case 200..<300 where response.fields.contains("Content-Range"):
      return resumption.refused("the origin sent a part, and calls it the whole")
    // The origin sent a whole new body, so the stored beginning is useless.
    case 200..<300: resumption.giveUp()
    default: resumption.body.end()
    }
    return .response(response, nil)
  }

  /// The length of the whole body, if the response is exactly the missing part: not encoded, with the same strong tag
  /// and of the announced length.
  private func wholeLength(promisedBy response: TransportResponse) -> Int64? {
    let fields = response.fields
    let ranges = fields.values(of: "Content-Range")
    guard ranges.count == 1, let range = ContentRange(ranges.first), range.first == body.length,
      range.isWholeRest, partial.wholeLength.map({ $0 == range.whole }) ?? true,
      case let tags = fields.exact.values(of: "ETag"), tags.count == 1,
      FieldList.isSame(tags[0], partial.strongETag),
      response.body.length.map({ $0 == range.count }) ?? true
    else { return nil }
    guard !ContentCoding.isNamed(in: fields) else { return nil }
    let type = FieldList.lowercased(fields["Content-Type"] ?? "")
    guard !type.hasPrefix("multipart/byteranges") else { return nil }
    if let sent = fields["Last-Modified"], let held = partial.fields["Last-Modified"], sent != held {
      return nil
    }
    return range.whole
  }

  /// The first part's fields, updated by those of the rest (RFC 9111 section 3.4), since a 206 need not repeat all
  /// fields.
  private func fields(
    with response: TransportResponse, wholeLength: Int64, _ secretNames: FieldNames
  ) -> HTTPFields {
    var fields = response.fields
    fields.removeAll(in: ["content-range", "content-encoding", "content-length"])
    // The fields of the rest stay as received, including cookies.
    let sent = FieldNames(fields.all.map(\.name))
    var first = partial.fields
    first.removeAll(in: sent, or: ["age", "date", "content-length"])
    first.append(contentsOf: fields)
    first.append("Content-Length", String(wholeLength))
    return first
  }

  private func refused(_ reason: String) -> Joined {
    giveUp()
    return .useless(because: reason)
  }

  /// Discards the stored beginning.
  func giveUp() {
    body.giveUp()
    body.end()
  }

  /// The data for resuming this download later, or `nil`: resuming needs a strong validator and a body without
  /// content coding.
  static func partial(
    of answer: Answer, for prepared: PreparedRequest, length: Int64?, protect: Vary.Protection,
    secretNames: FieldNames
  ) -> UnfinishedBody.Partial? {
    guard prepared.request.method == .get, !prepared.request.connection.isInsecure, answer.head.status == 200,
      answer.head.fields.values(of: "ETag").count == 1, let text = answer.head.fields.exact["ETag"],
      let tag = EntityTag(text), !tag.isWeak, !answer.head.fields.contains("Content-Encoding")
    else { return nil }
    let names = Vary.names(in: answer.head.fields)
    guard names != "*" else { return nil }
    return UnfinishedBody.Partial(
      key: prepared.key,
      variant: Vary.variant(names: names, requestFields: prepared.fields, protect: protect),
      url: prepared.source, fields: StoredFields.storable(answer.head.fields, secretNames: secretNames),
      strongETag: text, wholeLength: length)
  }
}

/// `Content-Range: bytes FIRST-LAST/WHOLE` (RFC 9110 section 14.4).
struct ContentRange: Sendable, Equatable {
  let first: Int64
  let last: Int64
  let whole: Int64

  /// The number of bytes in the range.
  var count: Int64 { last - first + 1 }

  /// Whether the range extends to the end of the body.
  var isWholeRest: Bool { last == whole - 1 }

  init?(_ value: String?) {
    guard let value, value.hasPrefix("bytes ") else { return nil }
    let parts = value.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let whole = Self.number(parts[1]), whole > 0 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), last >= first,
      last < whole
    else { return nil }
    (self.first, self.last, self.whole) = (first, last, whole)
  }
  /// Digits only.
  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy(\.isAsciiDigit) ? Int64(text) : nil
  }
}

extension Resumption {
  /// The truncated download of this request, if there is one that no other exchange is resuming: with the same key
  /// and variant, from the same URL. A request with a range or a condition of the caller's own resumes none.
  static func find(for exchange: Exchange) async -> Resumption? {
    let (core, prepared) = (exchange.core, exchange.prepared)
    guard exchange.plan.isShared, prepared.request.method == .get,
      !prepared.request.connection.isInsecure, !PassThrough.hasRange(prepared.fields),
      !PassThrough.hasPrecondition(prepared.fields), let id = exchange.generation.known
    else { return nil }
    do throws(CacheStoreError) {
      // The store verifies the stored part first, which takes time.
      let found = await core.door.ask(
        for: .reading, late: { if case .success(let found?) = $0 { found.body.end() } }
      ) { (store) async throws(CacheStoreError) in
        try await store.partialBody(accountID: id, key: prepared.key)
      }
      guard let found = try found.done() else { return nil }
      let resumption = Resumption(
        body: found.body, partial: found.partial,
        decodesContent: prepared.decodesContent || prepared.decodesUnasked)
      guard found.partial.url == prepared.source,
        Vary.matches(
          found.partial.variant, of: Vary.names(in: found.partial.fields), requestFields: prepared.fields,
          protect: core.protect, besides: prepared.credentials)
      else {
        // The part belongs to another variant. It stays for that variant, or for the next download of this key.
        found.body.end()
        return nil
      }
      // An empty part leaves no range to request.
      guard found.body.length > 0 else {
        resumption.giveUp()
        return nil
      }
      core.trace("resuming a download that was cut off after \(Counted.text(found.body.length, "byte"))")
      return resumption
    } catch {
      // If the lookup fails, the download starts from the beginning.
      return nil
    }
  }
}
