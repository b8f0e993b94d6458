import CacheStore
import DataService
import PlatformFoundation
import Synchronization

/// A body that arrives in pieces, with something happening before one of them.
struct ArrivingBody: Sendable {
  static let pieces = 8

  let bytes: [UInt8]
  /// Before which piece; the last one is the end, and a negative one none.
  var place = -1
  var happening: @Sendable () async -> Void = {}

  var response: TransportResponse {
    let next = Mutex(0)
    let size = (bytes.count + Self.pieces - 1) / Self.pieces
    let body = DataService.BodyStream(length: Int64(bytes.count)) {
      [self] () async throws(DataServiceError) -> Data? in
      let number = next.withLock { next in
        defer { next += 1 }
        return next
      }
      if number == place { await happening() }
      let piece = bytes[min(number * size, bytes.count)..<min((number + 1) * size, bytes.count)]
      return piece.isEmpty ? nil : Data(piece)
    }
    return TransportResponse(
      version: "1.1", status: 200, reason: "OK", fields: ["ETag": "\"\(bytes.count)\""], body: body)
  }
}
