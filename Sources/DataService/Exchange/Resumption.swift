internal import CacheStore
internal import FoundationEssentials

/// Going on with a download that was cut off (RFC 9110 sections 13.1.5 and 14).
struct Resumption: Sendable {
  /// What has arrived, verified.
  let body: UnfinishedBody
  /// What it belongs to, and the head it came with.
  let partial: UnfinishedBody.Partial

  /// A body that comes in two parts: what has arrived, and how long both are together.
  struct Resumed: Sendable {
    let body: UnfinishedBody
    let wholeLength: Int64
  }

  /// What an answer to the request for the rest has turned out to be.
  enum Joined {
    /// The response as if it had come whole, and what it goes on with; the response itself where it is another.
    case response(TransportResponse, Resumed?)
    /// The origin sent anything but the rest that was asked for.
    case useless(because: String)
  }

  /// Adds `Range` and `If-Range` to the request. Ranges count encoded bytes, so no encoding is asked for.
  func ask(in request: inout TransportRequest) {
    request.fields["Range"] = "bytes=\(body.length)-"
    request.fields["If-Range"] = partial.strongETag
    request.fields["Accept-Encoding"] = "identity"
    request.connection.isCompressed = false
  }

  /// Puts a response and the beginning of its body together.
  static func joined(
    _ response: TransportResponse, to resumption: Resumption?, secretNames: FieldNames
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
    // The whole, and another one: what there is of the old one is of no use any more.
    case 200..<300: resumption.giveUp()
    default: resumption.body.end()
    }
    return .response(response, nil)
  }

  /// The length of the whole, where the response is the missing part of it and nothing else: uncoded, of the same strong
  /// tag, as long as it says.
  private func wholeLength(promisedBy response: TransportResponse) -> Int64? {
    let fields = response.fields
    let ranges = fields.values(of: "Content-Range")
    guard ranges.count == 1, let range = ContentRange(ranges.first), range.first == body.length,
      range.isWholeRest, partial.wholeLength.map({ $0 == range.whole }) ?? true,
      fields.values(of: "ETag") == [partial.strongETag],
      response.body.length.map({ $0 == range.count }) ?? true
    else { return nil }
    let codings = fields.values(of: "Content-Encoding").flatMap(FieldList.members)
    guard codings.allSatisfy({ FieldList.lowercased($0) == "identity" }) else { return nil }
    let type = FieldList.lowercased(fields["Content-Type"] ?? "")
    guard !type.hasPrefix("multipart/byteranges") else { return nil }
    if let sent = fields["Last-Modified"], let held = partial.fields["Last-Modified"], sent != held {
      return nil
    }
    return range.whole
  }

  /// The first part's fields, updated by those of the rest (RFC 9111 section 3.4); a 206 need not repeat them all.
  private func fields(
    with response: TransportResponse, wholeLength: Int64, _ secretNames: FieldNames
  ) -> HTTPFields {
    var fields = response.fields
    fields.removeAll(in: ["content-range", "content-encoding", "content-length"])
    // The rest's own come as they were received, cookies too.
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

  /// Does not keep what has arrived.
  func giveUp() {
    body.giveUp()
    body.end()
  }

  /// What a download can be resumed by: a strong validator, and bytes that are stored as they were sent.
  static func partial(
    of answer: Answer, for prepared: PreparedRequest, length: Int64?, protect: Vary.Protection,
    secretNames: FieldNames
  ) -> UnfinishedBody.Partial? {
    guard prepared.request.method == .get, !prepared.request.connection.isInsecure, answer.status == 200,
      answer.fields.values(of: "ETag").count == 1, let text = answer.fields["ETag"],
      let tag = EntityTag(text), !tag.isWeak, !answer.fields.contains("Content-Encoding")
    else { return nil }
    let names = Vary.names(in: answer.fields)
    guard names != "*" else { return nil }
    return UnfinishedBody.Partial(
      key: prepared.key,
      variant: Vary.variant(names: names, requestFields: prepared.fields, protect: protect),
      url: prepared.shownURL, fields: StoredFields.storable(answer.fields, secretNames: secretNames),
      strongETag: text, wholeLength: length)
  }
}

/// `Content-Range: bytes FIRST-LAST/WHOLE` (RFC 9110 section 14.4).
struct ContentRange: Sendable, Equatable {
  let first: Int64
  let last: Int64
  let whole: Int64

  /// How many bytes it has.
  var count: Int64 { last - first + 1 }

  /// Whether it reaches to the end.
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
  /// The cut-off download of this request, if there is one that nobody else goes on with: of the same key and variant,
  /// sent by the same URL.
  nonisolated(nonsending) static func find(for exchange: Exchange) async -> Resumption? {
    let (core, prepared) = (exchange.core, exchange.prepared)
    guard exchange.plan.isShared, prepared.request.method == .get,
      !prepared.request.connection.isInsecure, let id = exchange.generation.known
    else { return nil }
    do throws(CacheStoreError) {
      // What there is of it is verified first, which takes its time.
      let found = try await core.read(
        late: { if case .success(let found?) = $0 { found.body.end() } },
        { () async throws(CacheStoreError) in
          try await core.store.partialBody(accountID: id, key: prepared.key)
        })
      guard let found else { return nil }
      let resumption = Resumption(body: found.body, partial: found.partial)
      let names = Vary.names(in: found.partial.fields)
      guard found.partial.url == prepared.shownURL, names != "*",
        Vary.variant(names: names, requestFields: prepared.fields, protect: core.protect)
          == found.partial.variant
      else {
        // Another's half: it waits for that one, or for the next download of this key.
        found.body.end()
        return nil
      }
      // With nothing in it there is no range to ask for.
      guard found.body.length > 0 else {
        resumption.giveUp()
        return nil
      }
      core.trace("resuming a download that was cut off after \(Counted.text(found.body.length, "byte"))")
      return resumption
    } catch {
      // A download that cannot be found again is begun anew.
      return nil
    }
  }
}
