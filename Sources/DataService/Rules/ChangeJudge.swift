internal import CacheStore
internal import FoundationEssentials

/// How an answer compares with the row a load knew.
enum ChangeJudge {
  static func change(
    of answer: Answer, from row: Box<StoredResponse>?, for prepared: PreparedRequest
  ) -> DataService.Change {
    guard let row else { return .new }
    if answer.wasValidated { return .unchanged }
    if prepared.isHead {
      // What goes with another status describes something else.
      let isSame =
        answer.status == row.value.status && isSameRepresentation(answer.fields, row.value.fields)
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

  /// A HEAD answer has no bytes to compare: its validators, or else its length, stand for them.
  private static func isSameRepresentation(_ answer: HTTPFields, _ stored: HTTPFields) -> Bool {
    for name in ["ETag", "Last-Modified", "Content-Length"] {
      if let one = answer[name], let other = stored[name] { return one == other }
    }
    return false
  }
}
