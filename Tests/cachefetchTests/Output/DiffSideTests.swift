import DataService
import PlatformFoundation
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: the sides of a comparison", .inTurn) struct DiffSideTests {
  /// A side whose body is said to be that long, and has no byte.
  private func side(length: Int64) throws -> DiffSide {
    let stream = DataService.BodyStream(length: length) { () throws(DataServiceError) in nil }
    return try DiffSide(DiffSide.Response(value: stream, head: Sample.head()))
  }

  @Test @MainActor func `a body of 64 MiB is read, and a longer one is not`() throws {
    #expect(try side(length: 64 << 20).body == Data())
    let long = try side(length: (64 << 20) + 1)
    #expect(long.body == nil && long.length == 67_108_865)
  }

  @Test func `a head alone has an empty body`() {
    let side = DiffSide(head: Sample.head())
    #expect(side.body == Data() && side.length == 0)
  }
}
