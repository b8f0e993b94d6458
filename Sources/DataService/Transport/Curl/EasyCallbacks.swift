internal import CCurl
import CacheStore
import PlatformFoundation

/// The callbacks of a transfer. libcurl calls them on the network thread only, and they drive no transfer.
/// The context is the ``EasyHandle``.
let easyCallbacks = ccurl_callbacks(
  header: { bytes, size, count, context in
    EasyHandle.from(context).take(line: UnsafeRawBufferPointer(start: bytes, count: size * count))
      ? size * count : 0
  },
  write: { bytes, size, count, context in
    EasyHandle.from(context).take(piece: UnsafeRawBufferPointer(start: bytes, count: size * count))
  },
  read: { room, size, count, context in
    EasyHandle.from(context).fill(UnsafeMutableRawBufferPointer(start: room, count: size * count))
  },
  seek: { context, offset, origin in
    EasyHandle.from(context).seek(to: Int(offset), origin: origin) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
  },
  ready: { context, peer, own, peerPort, ownPort in
    EasyHandle.from(context).becomeReady(
      ConnectionEnds(own: text(own), ownPort: ownPort, peer: text(peer), peerPort: peerPort))
      ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
  },
  progress: { context, _, _, _, _ in
    EasyHandle.from(context).noteTLSEnd()
    return 0
  })

private func text(_ address: UnsafeMutablePointer<CChar>?) -> String {
  address.map { String(cString: $0) } ?? ""
}

extension EasyHandle {
  /// The context is set by ``EasyHandle`` itself and is never null.
  fileprivate static func from(_ context: UnsafeMutableRawPointer?) -> EasyHandle {
    guard let context else { preconditionFailure("libcurl lost the context of a transfer") }
    return Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
  }

  /// Whether the request may be sent.
  fileprivate func becomeReady(_ ends: ConnectionEnds) -> Bool {
    guard let exchange else { return false }
    self.ends = ends
    guard exchange.host.isClean(ends) else { return false }
    exchange.host.enter(unsent.isEmpty ? .waiting : .sending, exchange)
    return true
  }

  fileprivate func noteTLSEnd() {
    if watchesTLSEnd { tlsEnd = ccurl_tls_end(library.table, raw) }
  }

  fileprivate func take(line: UnsafeRawBufferPointer) -> Bool {
    guard let exchange else { return false }
    exchange.host.enter(.receiving, exchange)
    do throws(HeadParser.Problem) {
      guard let head = try parser.take(line) else { return true }
      let limit = exchange.request.limits.bodyBytes
      if !head.isEncoded, let length = head.contentLength, length > limit, expectsBody(head) {
        refusal = .tooLarge(limit, exchange.origin.host)
        return false
      }
      // libcurl would refuse the body. Newer versions, which look at this option earlier, still do.
      if head.isPassedThrough, exchange.request.decodes { leaveCoded() }
      self.head = head
      if exchange.origin.isSecure, head.endsWithConnection, expectsBody(head) {
        watchesTLSEnd = ccurl_set_long(library.table, raw, CURLOPT_NOPROGRESS, 0) == CURLE_OK
      }
      exchange.receive(head)
      return true
    } catch {
      refusal = DataServiceError(
        .protocol,
        "the headers of the response from \(exchange.origin.host) are not acceptable: \(error.message)"
      )
      return false
    }
  }

  /// The return value of libcurl's write callback.
  fileprivate func take(piece: UnsafeRawBufferPointer) -> Int {
    guard let exchange else { return 0 }
    switch exchange.receive(piece) {
    case .taken(let total):
      exchange.host.enter(.receiving, exchange)
      let limit = exchange.request.limits.bodyBytes
      guard total > limit else { return piece.count }
      refusal = .tooLarge(limit, exchange.origin.host)
      return 0
    case .full:
      // libcurl keeps the piece and offers it again. It also keeps the rest of a piece being decoded, at most the
      // expansion of one receive buffer.
      exchange.track.isPaused = true
      exchange.host.enter(.paused, exchange)
      return Int(CURL_WRITEFUNC_PAUSE)
    case .ended: return 0
    }
  }

  fileprivate func fill(_ room: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(room.count, unsent.count)
    guard count > 0 else { return 0 }
    unsent.copyBytes(to: room, count: count)
    unsent = unsent.dropFirst(count)
    if let exchange { exchange.host.enter(unsent.isEmpty ? .waiting : .sending, exchange) }
    return count
  }

  /// libcurl rewinds the request body when a kept connection proves to be dead.
  fileprivate func seek(to offset: Int, origin: Int32) -> Bool {
    guard origin == SEEK_SET, let body = exchange?.request.body, offset >= 0, offset <= body.count else {
      return false
    }
    unsent = body.dropFirst(offset)
    return true
  }

  func expectsBody(_ head: HeadParser.Head) -> Bool {
    exchange?.request.method != .head && head.status != 204 && head.status != 304
  }
}

extension DataServiceError {
  fileprivate static func tooLarge(_ limit: Int64, _ host: String) -> DataServiceError {
    DataServiceError(
      .tooLarge, "the response from \(host) is larger than \(Counted.bytes(limit))",
      remedy: .largerBody)
  }
}
