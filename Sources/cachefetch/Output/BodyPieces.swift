internal import DataService
internal import PlatformFoundation

/// Why a body is incomplete.
enum BodyError: Error {
  case output(OutputError)
  /// The stored bytes are damaged or removed, or the exchange was interrupted.
  case body(DataServiceError)

  /// The error of the body; throws one of the output.
  func ofBody() throws(OutputError) -> DataServiceError {
    switch self {
    case .output(let error): throw error
    case .body(let error): return error
    }
  }
}

/// Reads a body on the main thread: a body in memory at once, any other piece by piece.
struct BodyPieces {
  let stream: DataService.BodyStream

  /// How many pieces are read ahead of writing.
  private static let ahead = 2

  /// Calls `take` with each piece until the end; meanwhile the next pieces are read.
  func forEach(_ take: (Data) throws(OutputError) -> Void) throws(BodyError) {
    if let whole = stream.whole { return try Self.wrap(whole, take) }
    let arrived = Mailbox<Result<Data?, DataServiceError>>()
    let (turns, turn) = AsyncStream.makeStream(of: Void.self)
    let pulling = Task { [stream] in
      for await _ in turns {
        do throws(DataServiceError) {
          arrived.post(.success(try await stream.next()))
        } catch {
          arrived.post(.failure(error))
        }
      }
    }
    defer { pulling.cancel() }
    for _ in 0..<Self.ahead { turn.yield() }
    while let result = arrived.wait() {
      switch result {
      case .success(let piece?): try Self.wrap(piece, take)
      case .success(nil): return
      case .failure(let error): throw .body(error)
      }
      turn.yield()
    }
    throw .output(.interrupted)
  }

  /// The whole body, or `nil` if it is larger than `limit`; and its length.
  func collected(limit: Int) throws(BodyError) -> (bytes: [UInt8]?, length: Int64) {
    if let length = stream.length, length > limit { return (nil, length) }
    var bytes: [UInt8] = []
    var count: Int64 = 0
    try forEach { piece in
      count += Int64(piece.count)
      if count <= limit { bytes += piece }
    }
    return (count <= limit ? bytes : nil, count)
  }

  private static func wrap(_ piece: Data, _ take: (Data) throws(OutputError) -> Void) throws(BodyError) {
    do { try take(piece) } catch { throw .output(error) }
  }
}
