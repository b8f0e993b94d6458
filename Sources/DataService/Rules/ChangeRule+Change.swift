package import FoundationEssentials

extension ChangeRule {
  /// How a fresh body compares with the stored one; without a 304, which is `unchanged` under every rule.
  ///
  /// - Parameters:
  ///   - stored: The stored body, or `nil` where nothing is stored.
  ///   - fresh: The body just received.
  package func change(from stored: Data?, to fresh: Data) -> DataService.Change {
    guard let stored else { return .new }
    return isUnchanged(from: stored, to: fresh) ? .unchanged : .changed
  }

  private func isUnchanged(from stored: Data, to fresh: Data) -> Bool {
    switch self {
    case .notModified: return false
    case .bytes: return stored == fresh
    case .json(let ignored):
      guard stored != fresh else { return true }
      guard let one = JSONValue(stored), let other = JSONValue(fresh) else { return false }
      let pointers = ignored.compactMap { JSONPointer($0) }
      return pointers.reduce(one) { $0.removing($1) } == pointers.reduce(other) { $0.removing($1) }
    }
  }

  /// The first of the paths to ignore that is not a JSON Pointer, for an error message; `nil` where all are.
  package var invalidPointer: String? {
    guard case .json(let ignored) = self else { return nil }
    return ignored.first { JSONPointer($0) == nil }
  }
}
