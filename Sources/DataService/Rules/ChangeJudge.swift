internal import CacheStore
package import PlatformFoundation

/// Compares an answer with the row that the load found at its start.
enum ChangeJudge {
  static func change(
    of answer: Answer, from row: Box<StoredResponse>?, for prepared: PreparedRequest
  ) -> DataService.Change {
    guard let row else { return .new }
    if answer.wasValidated { return .unchanged }
    if prepared.isHead {
      // The fields of another status describe something else.
      let isSame =
        answer.head.status == row.value.status
        && isSameRepresentation(answer.head.fields, row.value.fields)
      return isSame ? .unchanged : .changed
    }
    let rule = prepared.request.changeRule
    if row.value.body.isWhole, case .data(let data) = answer.body {
      return rule.change(from: row.value.body.firstChunk, to: data)
    }
    guard rule != .notModified, let comparison = answer.comparison, comparison.body == row.value.body else {
      return .changed
    }
    return comparison.isSame ? .unchanged : .changed
  }

  /// A HEAD answer has no body to compare, so its validators are compared, or else its length.
  private static func isSameRepresentation(_ answer: HTTPFields, _ stored: HTTPFields) -> Bool {
    for name in ["ETag", "Last-Modified", "Content-Length"] {
      if let one = answer.exact[name], let other = stored.exact[name] { return FieldList.isSame(one, other) }
    }
    return false
  }
}

extension ChangeRule {
  /// Compares a fresh body with the stored one. The caller has handled 304, which is `unchanged` under every rule.
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
}
