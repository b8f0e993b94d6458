/// The names by which a removal or invalidation is remembered that means more than one target: a write asks for those
/// that its own row comes under, since no row may have been there to mark.
enum Fence {
  private static let everything = "*"

  /// The names of what a selection means of exchanges under way, as narrow as one of its conditions; `nil` stands before
  /// those that are no target's. There are none where it selects by what only a row has: a size, a pin, a time of receipt
  /// in the past.
  static func names(_ selection: EntrySelection, now: Int64) -> [String?] {
    guard selection.rowIDs == nil, selection.minimumBytes == nil, selection.isPinned == nil,
      selection.isGood == nil, selection.receivedBeforeMilliseconds ?? .max >= now
    else { return [] }
    if let key = selection.key { return [key.target] }
    if let targets = selection.targets { return targets }
    if let tag = selection.tag { return [nil, "#" + tag] }
    if let prefix = selection.prefix, let origin = origin(of: prefix), origin.endIndex < prefix.endIndex {
      return [nil, String(origin)]
    }
    guard let host = selection.host else { return [nil, everything] }
    return [nil] + (selection.isAnyPort ? ["//" + host] : ["http://" + host, "https://" + host])
  }

  /// The names that a row comes under besides its target.
  static func names(of target: String, tags: [String]) -> [String] {
    let names = [everything] + tags.map { "#" + $0 }
    guard let origin = origin(of: target) else { return names }
    let authority = origin.drop { $0 != "/" }
    let port = authority.lastIndex(of: ":").flatMap { authority[$0...].contains("]") ? nil : $0 }
    return names + [String(origin), String(authority[..<(port ?? authority.endIndex)])]
  }

  /// `scheme://host[:port]`; `nil` of a caller's own key.
  private static func origin(of target: String) -> Substring? {
    guard target.hasPrefix("http://") || target.hasPrefix("https://") else { return nil }
    let rest = target.dropFirst(8)
    return target[..<(rest.firstIndex { $0 == "/" || $0 == "?" } ?? target.endIndex)]
  }
}
