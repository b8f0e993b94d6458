import CacheStore
import PlatformFoundation
import TestTurns
import Testing

@testable import DataService

/// What `LoadTask` replaces in its state may be the caller's, and must be released outside the lock.
@Suite("The state of a load", .inTurn) struct LoadStateTests {
  /// An error of a caller's decoder.
  private final class Refusal: Error, Sendable {}

  private static let row = Box(AnswerTests.stored)
  private static let response = DataService.Response(Data("fresh".utf8), source: .fresh)

  private var state: LoadState<Data> { LoadState(LoadMachine(policy: .storedThenFresh)) }

  @Test func `a failure that is replaced comes out, with the decoder's error in it`() throws {
    var state = state
    weak var refusal: Refusal?
    do {
      let error = Refusal()
      refusal = error
      let undecodable = DataServiceError(.undecodable, "", underlying: error)
      let replaced = state.fail(with: undecodable, isRowUnusable: true)
      #expect(replaced == nil)
    }
    #expect(refusal != nil)
    let replaced = state.use(served: Self.row, forward: nil)
    #expect(refusal != nil && replaced?.kind == .undecodable)
    #expect(state.row === Self.row && state.mayHaveStored, "the tier's row is not the unusable one")
    withExtendedLifetime(replaced) {}
  }

  @Test func `the stored response is served in spite of a failure once both are there`() {
    var state = state
    let withoutRow = state.noteFailure(.noAnswer)
    _ = state.use(served: Self.row, forward: nil)
    let withoutResponse = state.noteFailure(nil)
    #expect(withoutRow == nil && withoutResponse == nil)
    state.prepared(Self.response, of: Self.row.value)
    let (first, later) = (state.noteFailure(nil), state.noteFailure(.status(503)))
    #expect(first?.1 == .noAnswer && later?.1 == .status(503))
  }

  @Test func `an error status that counted as the answer becomes the reason, and nothing else does`() {
    var state = state
    let status = DataServiceError(.status, "", status: 503)
    var replaced = [state.serveStale(because: status) == nil]
    let isFresh = state.finish(with: .success((Self.response, .new)))
    #expect(isFresh)
    replaced.append(state.serveStale(because: nil) == nil)
    #expect(replaced == [true, true], "there is no answer, or nothing to put in its place")
    guard case .success? = state.serveStale(because: status) else {
      Issue.record("what is replaced does not come out")
      return
    }
    let again = state.serveStale(because: status)
    #expect(again == nil, "it is replaced by now")
  }

  @Test func `the result of a load that was stopped stays the stop's`() {
    var state = state
    _ = state.stop(with: .signedOut)
    let isFresh = state.finish(with: .success((Self.response, .new)))
    #expect(!isFresh)
    guard case .failure(let error)? = state.stop(with: DataServiceError(.closed, "")).1 else {
      Issue.record("there is no result")
      return
    }
    #expect(error.kind == .signedOut)
  }
}
