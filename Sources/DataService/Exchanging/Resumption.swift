internal import CacheStore
internal import FoundationEssentials

/// Going on with a download that was cut off (RFC 9110 sections 13.1.5 and 14).
struct Resumption: Sendable {
  /// What has arrived, verified.
  let body: UnfinishedBody
  /// Its strong validator and whole length.
  let partial: UnfinishedBody.Partial
  /// The only URL it may be asked of.
  let source: String

  /// Adds `Range` and `If-Range` to the request. Ranges count encoded bytes, so no encoding is asked for.
  func ask(in request: inout TransportRequest) {
    request.fields["Range"] = "bytes=\(body.length)-"
    request.fields["If-Range"] = partial.strongETag
    request.fields["Accept-Encoding"] = "identity"
    request.connection.isCompressed = false
  }

  /// The response as if it had come whole, and the body it goes on with; the response itself where it is another.
  /// - Throws: `repeatUnconditional` where the origin sent another part than was asked for, or has no such part.
  static func joined(
    _ response: TransportResponse, to resumption: Resumption?
  ) throws(DataServiceError) -> (TransportResponse, UnfinishedBody?) {
    guard let resumption else { return (response, nil) }
    guard response.status == 206 || response.status == 416 else {
      resumption.body.end()
      return (response, nil)
    }
    guard response.status == 206, let range = ContentRange(response.fields["Content-Range"]),
      range.first == resumption.body.length, range.isWholeRest,
      resumption.partial.wholeLength.map({ $0 == range.whole }) ?? true,
      response.fields["ETag"].map({ $0 == resumption.partial.strongETag }) ?? true
    else {
      resumption.body.end()
      throw DataServiceError(
        .repeatUnconditional, "the origin sent another part than the one that is missing",
        status: response.status)
    }
    var fields = response.fields
    fields.remove("Content-Range")
    fields["Content-Length"] = String(range.whole)
    let whole = TransportResponse(
      version: response.version, status: 200, reason: "OK", fields: fields, interim: response.interim,
      body: response.body)
    return (whole, resumption.body)
  }

  /// What a download can be resumed by: a strong validator, and bytes that are stored as they were sent.
  static func partial(of answer: Answer, key: RequestKey, length: Int64?) -> UnfinishedBody.Partial? {
    guard answer.status == 200, let text = answer.fields["ETag"], let tag = EntityTag(text), !tag.isWeak,
      !answer.fields.contains("Content-Encoding")
    else { return nil }
    return UnfinishedBody.Partial(target: key.target, strongETag: text, wholeLength: length)
  }
}

/// `Content-Range: bytes FIRST-LAST/WHOLE` (RFC 9110 section 14.4).
struct ContentRange: Sendable, Equatable {
  let first: Int64
  let last: Int64
  let whole: Int64

  /// Whether it reaches to the end.
  var isWholeRest: Bool { last == whole - 1 }

  init?(_ value: String?) {
    guard let value, value.hasPrefix("bytes ") else { return nil }
    let parts = value.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let whole = Int64(parts[1]), whole > 0 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), first >= 0, last >= first,
      last < whole
    else { return nil }
    (self.first, self.last, self.whole) = (first, last, whole)
  }
}

extension Exchange {
  /// The cut-off download of this request, if there is one that nobody else goes on with.
  nonisolated(nonsending) func resumption() async -> Resumption? {
    let prepared = plan.prepared
    guard plan.isShared, prepared.request.method == .get,
      let id = generation.known
    else { return nil }
    do throws(CacheStoreError) {
      guard let found = try await core.store.partialBody(accountID: id, target: prepared.key.target)
      else { return nil }
      core.trace("goes on with a download that was cut off after \(found.body.length) bytes")
      return Resumption(body: found.body, partial: found.partial, source: prepared.shownURL)
    } catch {
      // A download that cannot be found again is begun anew.
      return nil
    }
  }
}
