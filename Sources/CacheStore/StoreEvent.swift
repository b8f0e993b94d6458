/// Something that happened to the store and that a person should be told.
public enum StoreEvent: Sendable, Hashable {
  /// A damaged file was set aside and a new one made, with the rows that could still be read.
  ///
  /// - Parameters:
  ///   - path: The store.
  ///   - keptAs: What the damaged file is called now.
  ///   - carriedOver: Rows that were read whole and are in the new file.
  ///   - lost: Rows that were seen but could not be read; others may not even have been seen.
  case setAside(path: String, keptAs: String, carriedOver: Int, lost: Int)
  /// Rows that failed their checksum were removed.
  case removedDamagedRow(path: String)

  /// One line for a person.
  public var message: String {
    switch self {
    case .setAside(let path, let keptAs, let carriedOver, let lost):
      "the store \(path) was damaged and is kept as \(keptAs); \(Counted.text(carriedOver, "response")) "
        + "\(Counted.were(carriedOver)) carried over, \(lost) \(Counted.were(lost)) lost"
    case .removedDamagedRow(let path): "a damaged response was removed from the store \(path)"
    }
  }
}
