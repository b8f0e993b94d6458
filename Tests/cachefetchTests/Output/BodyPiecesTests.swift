import DataService
import PlatformFoundation
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: a body's pieces", .inTurn) struct BodyPiecesTests {
  private static let whole = BodyPieces(stream: DataService.BodyStream(whole: Data([1, 2, 3])))
  private static func pulled(_ pieces: [[UInt8]]) -> BodyPieces {
    BodyPieces(stream: Sample.response(pieces: pieces).value)
  }

  @Test @MainActor func `each piece is taken once and in order`() throws {
    var taken: [[UInt8]] = []
    try Self.pulled([[1], [2, 3], [], [4]]).forEach { taken.append([UInt8]($0)) }
    #expect(taken == [[1], [2, 3], [], [4]])
  }

  @Test @MainActor func `a body is collected up to the limit, and above it its length is told`() throws {
    for body in [Self.whole, Self.pulled([[1], [2, 3]])] {
      let within = try body.collected(limit: 3)
      #expect(within.bytes == [1, 2, 3] && within.length == 3)
    }
    for body in [Self.whole, Self.pulled([[1], [2, 3]])] {
      let above = try body.collected(limit: 2)
      #expect(above.bytes == nil && above.length == 3)
    }
  }

  @Test @MainActor func `of one whose length is known to be above the limit nothing is pulled`() throws {
    let stream = DataService.BodyStream(length: 3) { () throws(DataServiceError) in
      throw DataServiceError(.disconnected, "it is pulled")
    }
    let above = try BodyPieces(stream: stream).collected(limit: 2)
    #expect(above.bytes == nil && above.length == 3)
    #expect(throws: BodyError.self) { try BodyPieces(stream: stream).collected(limit: 3) }
  }

  @Test @MainActor func `whoever takes may refuse, and hears why`() throws {
    for body in [Self.whole, Self.pulled([[1], [2]])] {
      do throws(BodyError) {
        try body.forEach { _ throws(OutputError) in throw .closed }
        Issue.record("nothing was refused")
      } catch {
        guard case .output(.closed) = error else {
          Issue.record("\(error)")
          continue
        }
      }
    }
  }

  /// Begins to take a body, and refuses its first piece.
  private func refuse(_ held: Held) {
    let pieces = BodyPieces(
      stream: DataService.BodyStream(length: nil) { () throws(DataServiceError) in held.piece })
    #expect(throws: BodyError.self) {
      try pieces.forEach { _ throws(OutputError) in throw .closed }
    }
  }

  @Test @MainActor func `a body that is not taken to its end is released`() async {
    weak var held: Held?
    do {
      let one = Held()
      held = one
      refuse(one)
    }
    while held != nil { await Task.yield() }
    #expect(held == nil)
  }
}

/// What a body's bytes come from.
private final class Held: Sendable {
  let piece = Data([1])
}
