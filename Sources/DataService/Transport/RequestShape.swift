import CacheStore
import PlatformFoundation

/// The form of a request, in terms of libcurl's options.
enum RequestShape: Hashable {
  /// A plain GET.
  case get
  /// A HEAD: no body comes back whatever the fields say.
  case head
  /// Another method without a body.
  case bare(String)
  /// A method with a body of that many bytes, which may be 0 for methods that state a length of 0.
  case body(String, Int)

  init(_ request: TransportRequest) {
    let method = request.method.rawValue
    if let body = request.body {
      self = .body(method, body.count)
    } else if ["POST", "PUT", "PATCH"].contains(method) {
      self = .body(method, 0)
    } else if method == "GET" {
      self = .get
    } else {
      self = method == "HEAD" ? .head : .bare(method)
    }
  }

  var hasBody: Bool { if case .body = self { true } else { false } }

  /// The method to write in place of libcurl's own.
  var customMethod: String? {
    switch self {
    case .get, .head: nil
    case .bare(let method), .body(let method, _): method
    }
  }
}

extension HTTPFields {
  /// The fields that say how the body is sent, which is libcurl's to say. It would write a framing of the caller's with
  /// no body behind it, and where an expectation is answered with 417 it sends the request again by itself.
  private static let framing: FieldNames = ["content-length", "expect", "transfer-encoding"]

  /// The lines in libcurl's format: without line end, with `Name;` for an empty value, without those of the framing,
  /// and with the fields disabled that libcurl would add.
  func libcurlLines(hasBody: Bool, asksForCoding: Bool = true) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    for line in wire.split(separator: 0x0A) {
      let content = line.last == 0x0D ? line.dropLast() : line
      guard let colon = content.firstIndex(of: 0x3A) else { continue }
      // What contradicts the body has already been refused.
      if Self.framing.contains(String(decoding: content[..<colon], as: UTF8.self)) { continue }
      let isEmpty = content[(colon + 1)...].allSatisfy { $0 == 0x20 || $0 == 0x09 }
      lines.append(isEmpty ? Array(content[..<colon]) + [0x3B] : Array(content))
    }
    if !asksForCoding, !contains("Accept-Encoding") { lines.append(Array("Accept-Encoding:".utf8)) }
    if hasBody {
      lines.append(Array("Expect:".utf8))
      if !contains("Content-Type") { lines.append(Array("Content-Type:".utf8)) }
    }
    return lines
  }
}

extension TransportRequest {
  /// Whether the body comes decoded: in a coding that was asked for, or in one that the origin used unasked.
  var decodes: Bool { connection.isCompressed || isDecodedUnasked }

  /// Whether a coding is decoded that nobody has asked for. A request that names codings gets the bytes as they come, as
  /// one for the rest of a download does; a part of a coded body cannot be decoded, and a HEAD has none.
  var isDecodedUnasked: Bool {
    decodesUnasked && method != .head && !fields.contains("Accept-Encoding") && !fields.contains("Range")
  }

  /// The reason why the request cannot be sent, or `nil`. The service checks too, but this is the last check before
  /// the wire.
  package var fault: DataServiceError? {
    if let refused = fields.refused { return DataServiceError(.invalidRequest, refused) }
    let method = method.rawValue
    guard !method.isEmpty, method.utf8.allSatisfy(\.isTokenByte) else {
      return DataServiceError(.invalidRequest, "the method is not a token")
    }
    if method == "HEAD", body != nil {
      return DataServiceError(.invalidRequest, "a HEAD request has no body")
    }
    if method == "CONNECT" {
      return DataServiceError(.invalidRequest, "CONNECT is not a request for a resource")
    }
    if fields.contradictLength(of: body) {
      return DataServiceError(.invalidRequest, "Content-Length contradicts the body")
    }
    // Chunks say nothing of the bytes in them; another coding would, and the body is sent as it is.
    let codings = fields.values(of: "Transfer-Encoding")
    guard codings.allSatisfy({ ["", "chunked", "identity"].contains($0.lowercased()) }) else {
      return DataServiceError(.invalidRequest, "Transfer-Encoding names a coding that the body is not in")
    }
    return nil
  }
}
