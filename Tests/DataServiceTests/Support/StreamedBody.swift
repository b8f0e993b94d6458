import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport

/// A load's outcome with its body read to the end.
struct StreamedBody {
  var bytes: [UInt8] = []
  /// `stored`, how a fresh body compares, or a failure's kind.
  var kind = "none"
  var kept: DataService.Kept?
}

extension ServiceFixture {
  /// A service that stores bodies in chunks of `chunkBytes`, the usual ones where none is given. Its origin
  /// answers with `bodies`, one after the other, and then refuses; without them it has the real transport.
  static func make(
    chunkBytes: Int? = nil, bodies: [String]? = nil,
    _ configure: (inout DataService.Configuration) -> Void = { _ in }
  ) throws -> ServiceFixture {
    let transport = bodies.map { bodies in
      ScriptedTransport { _, number throws(DataServiceError) in
        guard number <= bodies.count else { throw DataServiceError(.refused, "refused") }
        return .answer(bodies[number - 1])
      }
    }
    return try ServiceFixture(transport: transport) { configuration in
      if let chunkBytes { configuration.store.chunkBytes = chunkBytes }
      configure(&configuration)
    }
  }

  /// The terminal outcome of a load whose bodies are streams.
  func streamed(_ url: URL, policy: FetchPolicy) async throws -> StreamedBody {
    try await streamed(request(url), policy: policy)
  }

  /// The same of a request.
  func streamed(_ request: DataService.Request, policy: FetchPolicy) async throws -> StreamedBody {
    var result = StreamedBody()
    for await delivery in service.streams(for: request, policy: policy) {
      switch delivery {
      case .stored(let response):
        result = StreamedBody(bytes: try await response.value.all(), kind: "stored", kept: response.kept)
      case .fresh(let response, let change):
        result = StreamedBody(
          bytes: try await response.value.all(), kind: change.rawValue, kept: response.kept)
      case .failure(let error, _): result = StreamedBody(kind: error.kind.name)
      }
    }
    return result
  }

  /// Begins to read the stored body: its stream, and its first piece.
  func storedStream(
    of url: URL, account: Account = .automatic
  ) async throws -> (stream: DataService.BodyStream, first: Data)? {
    var request = request(url)
    request.account = account
    for await delivery in service.streams(for: request, policy: .storedOnly) {
      guard case .stored(let response) = delivery, let first = try await response.value.next() else {
        continue
      }
      return (response.value, first)
    }
    return nil
  }
}

extension DataService.BodyStream {
  /// Reads to the end.
  func all() async throws(DataServiceError) -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await next() { bytes.append(contentsOf: piece) }
    return bytes
  }

  /// Reads on, and says how it ended: `nil` for the end of the body.
  func ending() async -> DataServiceError.Kind? {
    do throws(DataServiceError) {
      _ = try await all()
      return nil
    } catch { return error.kind }
  }
}

extension DataService.BodyStream {
  func text() async throws(DataServiceError) -> String {
    var all = Data()
    while let piece = try await next() { all.append(piece) }
    return String(decoding: all, as: UTF8.self)
  }
}
