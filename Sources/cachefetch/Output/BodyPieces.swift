internal import DataService
internal import FoundationEssentials

/// Why a body did not come to its end.
enum BodyError: Error {
  case output(OutputError)
  /// The stored bytes are damaged or gone, or the exchange broke off.
  case body(DataServiceError)
}

/// A body's pieces on the main thread: what is at hand at once, the rest pulled piece by piece.
struct BodyPieces {
  let stream: DataService.BodyStream

  /// Pieces that are pulled before they are written.
  private static let ahead = 2

  /// Calls `take` with each piece until the end; while it works, the next are pulled.
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

  /// The whole body where it is not larger than `limit`; `nil` and the length where it is.
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
