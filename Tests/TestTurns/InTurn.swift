package import Testing

/// Lets a case of a test begin when fewer others run than there is room for, and ends the whole run, with the names of
/// those under way, when one has not ended after ten minutes.
///
/// Without it all tests begin at once on a pool of as many threads as there are processors, and half a minute can lie
/// between two lines of one of them. Every suite has this trait; `scripts/check format` looks for one that has not.
package struct InTurn: SuiteTrait, TestTrait, TestScoping {
  package let isRecursive = true
  /// Whether the cases of the suite run one after the other. The next comes when the one before has ended; behind all who
  /// wait, such suites would be alone at the end of the run, with processors idle.
  fileprivate var isSerial = false

  /// For a suite that is `.serialized`.
  package var serially: Self { Self(isSerial: true) }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    // Of a suite as a whole nothing runs; its cases come here one by one.
    guard testCase != nil else { return try await function() }
    await Turns.shared.begin(goesFirst: isSerial)
    defer { Turns.shared.end() }
    let (name, began) = ("\(test.displayName ?? test.name) (\(test.sourceLocation))", CaseTimes.Moment())
    let watch = HangWatch(of: name)
    defer {
      watch.stop()
      CaseTimes.note(name, since: began)
    }
    try await function()
  }
}

extension Trait where Self == InTurn {
  /// In turn with all other tests, and for ten minutes at most.
  package static var inTurn: Self { Self() }
}

/// Lets another test run while this one waits for seconds that a limit of real time takes, and computes nothing.
package func withoutTurn<Value>(_ wait: () async throws -> Value) async throws -> Value {
  Turns.shared.end()
  let outcome: Result<Value, any Error>
  do { outcome = .success(try await wait()) } catch { outcome = .failure(error) }
  await Turns.shared.begin(goesFirst: true)
  return try outcome.get()
}
